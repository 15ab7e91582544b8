import { z } from 'zod'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { isErrorCode } from '../model/errors.ts'
import type { Content, EmbeddedResource, Outcome, OutcomeError } from '../model/outcome.ts'
import { errorOf, FAILED_WITHOUT_TEXT, json, present, textOfContent, textOfData, type Reading } from './reading.ts'

/** Blocks may have annotations and unknown fields, which are ignored. */
const block = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('image'), data: z.string(), mimeType: z.string() }),
  z.looseObject({ type: z.literal('audio'), data: z.string(), mimeType: z.string() }),
  z.looseObject({
    type: z.literal('resource_link'), uri: z.string(), name: z.string(), title: z.string().optional(),
    description: z.string().optional(), mimeType: z.string().optional(),
  }),
  z.looseObject({
    type: z.literal('resource'),
    resource: z.looseObject({
      uri: z.string(), mimeType: z.string().optional(), text: z.string().exactOptional(),
      blob: z.string().exactOptional(),
    }),
  }),
])
const callToolResult = z.strictObject({
  content: z.array(block),
  structuredContent: z.record(z.string(), json).exactOptional(),
  isError: z.boolean().exactOptional(),
  _meta: z.record(z.string(), json).exactOptional(),
})

/** MCP wraps an embedded resource. */
export type McpBlock =
  | Exclude<Content, EmbeddedResource>
  | { readonly type: 'resource'; readonly resource: McpResource }

type McpResource =
  & { readonly uri: string; readonly mimeType?: string }
  & ({ readonly text: string } | { readonly blob: string })

export interface McpResult {
  readonly content: readonly McpBlock[]
  readonly structuredContent?: JsonObject
  readonly isError?: true
  readonly _meta?: JsonObject
}

/**
 * An object becomes structured content, and text if the tool gave no content; other data becomes text. The code of an
 * error is in `_meta`, with the tool that finds out what an unknown outcome was. Loses details, completion, other data of
 * an error and all metadata.
 */
export function toMcp(outcome: Outcome): McpResult {
  if (outcome.type === 'error') {
    const { error: { code, class: cls, retryable, data }, error_text: text, content = [] } = outcome
    const verify = code === 'OutcomeUnknown' && isJsonObject(data) ? data['verify'] : undefined
    const about = { code, class: cls, retryable, ...present({ verify }) }
    const blocks = textOfContent(content) === text ? content : [{ type: 'text', text } as const, ...content]
    return { content: blocks.map(toMcpBlock), isError: true, _meta: { [ERROR_KEY]: about } }
  }
  const { data, content = [] } = outcome
  const blocks = content.length > 0 ? content : [{ type: 'text', text: textOfData(data) } as const]
  return { content: blocks.map(toMcpBlock), ...(isJsonObject(data) ? { structuredContent: data } : {}) }
}

/** A block in MCP's form. */
export function toMcpBlock(part: Content): McpBlock {
  if (part.type !== 'resource') return part
  const { type, ...resource } = part
  return { type, resource: resource as McpResource }
}

/** In the form that MCP requires for such keys. */
const ERROR_KEY = 'bulkhead/error'

/**
 * The result of an MCP server or a similar tool; undefined for any other value. Loses annotations, and _meta except the
 * code of an error.
 */
export function fromMcp(value: unknown): Reading | undefined {
  const parsed = callToolResult.safeParse(value)
  if (!parsed.success) return undefined
  const { structuredContent, isError, _meta: about } = parsed.data
  const content = parsed.data.content.map(shown)
  const text = textOfContent(content)
  return {
    body: isError
      ? { type: 'error', error_text: text ?? FAILED_WITHOUT_TEXT, error: failed(about, structuredContent), content }
      : { type: 'output', data: structuredContent ?? text ?? null, content },
    metadata: {},
  }
}

function failed(about: JsonObject | undefined, data: Json | undefined): OutcomeError {
  const named = about?.[ERROR_KEY]
  const { code } = isJsonObject(named) ? named : {}
  return errorOf(isErrorCode(code) ? code : 'ToolExecutionFailed', data)
}

function shown(part: z.infer<typeof block>): Content {
  switch (part.type) {
    case 'text': return { type: 'text', text: part.text }
    case 'image':
    case 'audio': return { type: part.type, data: part.data, mimeType: part.mimeType }
    case 'resource_link': {
      const { type, uri, name, title, description, mimeType } = part
      return { type, uri, name, ...present({ title, description, mimeType }) }
    }
    case 'resource': {
      const { uri, mimeType, text, blob } = part.resource
      const about = { type: part.type, uri, ...present({ mimeType }) }
      if (text !== undefined) return { ...about, text }
      return blob === undefined ? { type: 'text', text: `[binary resource ${uri}]` } : { ...about, blob }
    }
  }
}
