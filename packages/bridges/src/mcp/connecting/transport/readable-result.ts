import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { isSpecType, type JSONRPCMessage } from '@modelcontextprotocol/client'
import { cut } from '../../../connected/entries.ts'

/** The key for the unchecked list of tools. */
export const LISTED = 'bulkhead/listed'
/** The key for the task that a server made of a call. The SDK does not know the extension. */
export const TASK = 'bulkhead/task'

const TYPE_CHARS = 64
/** Each of these members marks the result of a call. */
const MEMBERS = ['content', 'structuredContent', 'isError'] as const

/**
 * Prepares a result for the SDK, which rejects a whole result for one invalid part. Invalid content blocks are replaced
 * with a note, tools are passed on unchecked, and null members are removed. A task becomes a result that names it.
 */
export function readableResult(message: JSONRPCMessage): JSONRPCMessage {
  if (!('result' in message)) return message
  const { tools, content = [], ...result } = withoutNulls(message.result as JsonObject)
  if (result['resultType'] === 'task') return { ...message, result: { resultType: 'complete', content: [], [TASK]: result } }
  if (Array.isArray(tools)) return { ...message, result: { ...result, tools: [], [LISTED]: tools } }
  if (!MEMBERS.some((member) => member in message.result)) return message
  return { ...message, result: { ...result, content: [content].flat().map(readableBlock) } }
}

export function readableBlock(block: Json): Json {
  if (isSpecType.ContentBlock(block)) return block as Json
  if (typeof block === 'string') return { type: 'text', text: block }
  if (!isJsonObject(block)) return leftOut('something that is not a content block')
  const bare = withoutMetadata(block)
  if (isSpecType.ContentBlock(bare)) return bare
  const { type } = bare
  return leftOut(
    typeof type === 'string' ? `an unsupported block of type "${cut(type, TYPE_CHARS)}"` : 'a block without a type',
  )
}

const leftOut = (what: string): JsonObject =>
  ({ type: 'text', text: `[removed from the result: the server sent ${what}]` })

/** Removes metadata that might be invalid. */
function withoutMetadata({ annotations: _annotations, _meta, icons: _icons, ...block }: JsonObject): JsonObject {
  const { resource, ...rest } = withoutNulls(block)
  return isJsonObject(resource) ? { ...rest, resource: withoutMetadata(resource) } : rest
}

const withoutNulls = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))
