import type { Content, Outcome, ToolDefinition } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { canonicalCall, noteOfCut, textOfBlock, textOfData } from '@bulkhead/contract/dialects'

/** A tool in the format of the Messages API. */
export interface MessagesTool {
  readonly name: string
  readonly description: string
  readonly input_schema: JsonObject
}

/** A tool call: a block of a model's message. */
export interface ToolUseBlock {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: unknown
}

/** The result of a tool call: a block of the next user message. */
export interface ToolResultBlock {
  readonly type: 'tool_result'
  readonly tool_use_id: string
  readonly content: string | readonly ToolResultContent[]
  readonly is_error?: true
}

export type ToolResultContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly source: ImageSource }

interface ImageSource {
  readonly type: 'base64'
  readonly media_type: string
  readonly data: string
}

/** The schemas are copies, so that an SDK can change them. */
export const toMessagesTools = (tools: readonly ToolDefinition[]): readonly MessagesTool[] =>
  tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: structuredClone(inputSchema) }))

export interface ToolUseOptions {
  /** The available tools. With them, calls in the notation of other agents, such as `read_file`, are translated. */
  readonly tools?: readonly ToolDefinition[]
}

/** Invalid arguments are passed on unchanged. The host rejects them with an error for the model. */
export const fromToolUse = (
  { id, name, input }: ToolUseBlock, { tools = [] }: ToolUseOptions = {},
): { readonly id: string; readonly name: string; readonly arguments: Json } =>
  canonicalCall({ id, name, arguments: input as Json }, (known) => tools.find((tool) => tool.name === known))

export function toToolResult(outcome: Outcome): ToolResultBlock {
  const head = { type: 'tool_result', tool_use_id: outcome.metadata.call_id } as const
  const note = noteOfCut(outcome.metadata)
  const noted = (text: string): string => note === undefined ? text : `${text}\n${note}`
  if (outcome.type === 'error') return { ...head, content: noted(outcome.error_text), is_error: true }
  if (outcome.content !== undefined && outcome.content.length > 0) {
    const notes = note === undefined ? [] : [{ type: 'text', text: note } as const]
    return { ...head, content: [...outcome.content.map(shown), ...notes] }
  }
  return { ...head, content: noted(textOfData(outcome.data)) }
}

const shown = (part: Content): ToolResultContent => part.type !== 'image'
  ? { type: 'text', text: textOfBlock(part) }
  : { type: 'image', source: { type: 'base64', media_type: part.mimeType, data: part.data } }
