import type { Content, Outcome, ToolDefinition } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { canonicalCall, noteOfCut, textOfData } from '@bulkhead/contract/dialects'

/** A tool as the Messages API wants it. */
export interface MessagesTool {
  readonly name: string
  readonly description: string
  readonly input_schema: JsonObject
}

/** One call of a model: a block of its message. */
export interface ToolUseBlock {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: unknown
}

/** What answers it: a block of the next message of the user. */
export interface ToolResultBlock {
  readonly type: 'tool_result'
  readonly tool_use_id: string
  readonly content: string | readonly ToolResultContent[]
  readonly is_error?: true
}

export type ToolResultContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly source: { readonly type: 'base64'; readonly media_type: string; readonly data: string } }

/** The schemas are copies: what an SDK does to one reaches no other tool list. */
export const toMessagesTools = (tools: readonly ToolDefinition[]): readonly MessagesTool[] =>
  tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: structuredClone(inputSchema) }))

export interface ToolUseOptions {
  /** Those there are. A model that calls one of them as another agent taught it, such as `read_file` with a `file_path`, is understood. */
  readonly tools?: readonly ToolDefinition[]
}

/** Invalid arguments are passed on unchanged: the host rejects them with its own message. */
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
    return { ...head, content: [...outcome.content.map(shown), ...(note === undefined ? [] : [{ type: 'text', text: note } as const])] }
  }
  return { ...head, content: noted(textOfData(outcome.data)) }
}

const shown = (part: Content): ToolResultContent => part.type === 'text'
  ? { type: 'text', text: part.text }
  : { type: 'image', source: { type: 'base64', media_type: part.mimeType, data: part.data } }
