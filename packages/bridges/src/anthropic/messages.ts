import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { modelCallId } from '../models/call-ids.ts'
import { toHostCall, type HostCall } from '../models/host-call.ts'
import { ANTHROPIC } from '../models/profiles.ts'
import type { MutableSchema } from '../models/project.ts'
import { resultParts, resultText, type MediaPart, type ResultPart } from '../models/result-parts.ts'
import { providerTools, toolReports, type ToolReport } from '../models/tool-reports.ts'

/** A tool in the format of the Messages API. */
export interface MessagesTool {
  readonly name: string
  readonly description: string
  readonly input_schema: MutableSchema
  readonly strict?: true
}

export interface MessagesToolOptions {
  /**
   * Requests arguments that match the schema. Remote tools and tools whose schema cannot be strict keep their own
   * schema; `reportTools` names the reasons.
   */
  readonly strict?: boolean
}

/** The list and its schemas are copies, so that an SDK can change them. */
export const toMessagesTools = (
  tools: readonly ToolDefinition[], { strict = false }: MessagesToolOptions = {},
): MessagesTool[] => providerTools(tools, ANTHROPIC, strict).map(({ tool, name, schema, strict: isStrict }) => ({
  name, description: tool.description, input_schema: schema, ...(isStrict ? { strict: true as const } : {}),
}))

/** Which tools would be strict, why others would not, and what the provider does not enforce. Sends nothing. */
export const reportTools = (tools: readonly ToolDefinition[]): readonly ToolReport[] =>
  toolReports(tools, ANTHROPIC, true)

/** A tool call: a block of a model's message. */
export interface ToolUseBlock {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: unknown
}

export interface ToolUseOptions {
  /** The available tools. With them, calls in the notation of other agents, such as `read_file`, are translated. */
  readonly tools?: readonly ToolDefinition[]
}

/** Invalid arguments are passed on unchanged. The host rejects them with an error for the model. */
export const fromToolUse = ({ id, name, input }: ToolUseBlock, options: ToolUseOptions = {}): HostCall =>
  toHostCall({ id, name, arguments: input as Json }, options, ANTHROPIC)

/** The result of a tool call: a block of the next user message. */
export interface ToolResultBlock {
  readonly type: 'tool_result'
  readonly tool_use_id: string
  readonly content: string | ToolResultContent[]
  readonly is_error?: true
}

export type ToolResultContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly source: Base64Source<ImageType> }
  | { readonly type: 'document'; readonly source: Base64Source<'application/pdf'> | TextSource }

interface Base64Source<MediaType> {
  readonly type: 'base64'
  readonly media_type: MediaType
  readonly data: string
}

interface TextSource {
  readonly type: 'text'
  readonly media_type: 'text/plain'
  readonly data: string
}

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const
type ImageType = (typeof IMAGE_TYPES)[number]
const CARRIED: ReadonlySet<string> = new Set([...IMAGE_TYPES, 'application/pdf', 'text/plain'])

/** Images, PDF files and plain text files are sent as they are. Other bytes are named in the text. */
export function toToolResult(outcome: Outcome): ToolResultBlock {
  const head = { type: 'tool_result', tool_use_id: modelCallId(outcome.metadata.call_id) } as const
  // The API accepts nothing but text in an error.
  if (outcome.type === 'error') return { ...head, content: resultText(outcome), is_error: true }
  if ((outcome.content ?? []).length === 0) return { ...head, content: resultText(outcome) }
  return { ...head, content: resultParts(outcome, (mimeType) => CARRIED.has(mimeType)).map(block) }
}

const block = (part: ResultPart): ToolResultContent =>
  part.type === 'text' ? { type: 'text', text: part.text } : mediaBlock(part)

function mediaBlock({ mimeType, data }: MediaPart): ToolResultContent {
  if (mimeType === 'text/plain') {
    const text = Buffer.from(data, 'base64').toString()
    return { type: 'document', source: { type: 'text', media_type: mimeType, data: text } }
  }
  return mimeType === 'application/pdf'
    ? { type: 'document', source: { type: 'base64', media_type: mimeType, data } }
    : { type: 'image', source: { type: 'base64', media_type: mimeType as ImageType, data } }
}
