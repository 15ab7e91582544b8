import { isSpecType, type JSONRPCMessage } from '@modelcontextprotocol/client'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { cut } from '../../../connected/names.ts'

const TYPE_CHARS = 64
/** Each of these members marks the result of a call. */
const MEMBERS = ['content', 'structuredContent', 'isError'] as const

/** Where the list of tools stands then. */
export const LISTED = 'bulkhead/listed'

/**
 * Makes a result readable for the library, which rejects a result as a whole. Invalid content blocks are replaced with a note, tools
 * are passed on unread, and null members are removed.
 */
export function readableResult(message: JSONRPCMessage): JSONRPCMessage {
  if (!('result' in message)) return message
  const { tools, content = [], ...result } = withoutNulls(message.result as JsonObject)
  if (Array.isArray(tools)) return { ...message, result: { ...result, tools: [], [LISTED]: tools } }
  if (!MEMBERS.some((member) => member in message.result)) return message
  return { ...message, result: { ...result, content: [content].flat().map(readableBlock) } }
}

function readableBlock(block: Json): Json {
  if (isSpecType.ContentBlock(block)) return block as Json
  if (typeof block === 'string') return { type: 'text', text: block }
  if (!isJsonObject(block)) return leftOut('what is no block at all')
  const bare = withoutRemarks(block)
  if (isSpecType.ContentBlock(bare)) return bare
  const { type } = bare
  return leftOut(typeof type === 'string' ? `a block of the type "${cut(type, TYPE_CHARS)}" that cannot be read here` : 'a block without a type')
}

const leftOut = (what: string): JsonObject => ({ type: 'text', text: `[left out of the result: the server sent ${what}]` })

/** Metadata of a block. */
function withoutRemarks({ annotations: _annotations, _meta, icons: _icons, ...block }: JsonObject): JsonObject {
  const { resource, ...said } = withoutNulls(block)
  return isJsonObject(resource) ? { ...said, resource: withoutRemarks(resource) } : said
}

const withoutNulls = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))
