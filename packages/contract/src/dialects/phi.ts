import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { z } from 'zod'
import type { ErrorCode } from '../model/errors.ts'
import type { BulkheadEvent, EventOf } from '../model/events.ts'
import type { Content, ErrorOutcome, Outcome, OutcomeBody } from '../model/outcome.ts'
import type { ToolDefinition } from '../ports/embedder.ts'
import {
  endsRun, errorOf, FAILED_WITHOUT_TEXT, json, plainBlock, present, textOfBlock, textOfContent, textOfData,
  type CallEvent, type EventContext, type PlainBlock, type Reading,
} from './reading.ts'

const toolResult = z.strictObject({
  content: z.array(plainBlock),
  details: json,
  child_loop_id: z.string().nullable(),
})
/** A failure that was turned into a result has an error flag. */
const returned = toolResult.partial({ details: true, child_loop_id: true })
  .extend({ is_error: z.boolean().exactOptional(), isError: z.boolean().exactOptional() })
const toolError = z.discriminatedUnion('variant', [
  z.strictObject({ variant: z.enum(['Failed', 'NotFound', 'InvalidArgs']), message: z.string() }),
  z.strictObject({ variant: z.literal('Cancelled') }),
])
/** phi has no variant for it. We wrote this one before. */
const timeoutError = z.strictObject({ variant: z.literal('Timeout'), message: z.string() })
const toolResultMessage = z.strictObject({
  role: z.literal('toolResult'),
  toolCallId: z.string(),
  toolName: z.string(),
  content: z.array(plainBlock),
  isError: z.boolean(),
  timestamp: z.int().nonnegative(),
})

export type PhiToolResult = z.infer<typeof toolResult>
export type PhiToolError = z.infer<typeof toolError>
/** The message in the conversation. */
export type PhiToolResultMessage = z.infer<typeof toolResultMessage>

type Variant = PhiToolError['variant']
const VARIANTS: readonly { readonly variant: Variant; readonly code: ErrorCode; readonly prefix: string }[] = [
  { variant: 'NotFound', code: 'ToolNotRegistered', prefix: 'Tool not found: ' },
  { variant: 'InvalidArgs', code: 'InputInvalid', prefix: 'Invalid arguments: ' },
  { variant: 'Cancelled', code: 'ToolCancelled', prefix: 'Cancelled' },
  { variant: 'Failed', code: 'ToolExecutionFailed', prefix: '' },
]
/** How the text of a failure begins if the tool took too long. */
const TOO_LONG = 'Tool exceeded timeout of '
const rowOf = (variant: Variant) => VARIANTS.find((row) => row.variant === variant)!

/** How phi shows an error to the model. */
export const phiErrorText = (error: PhiToolError): string =>
  rowOf(error.variant).prefix + (error.variant === 'Cancelled' ? '' : error.message)

/**
 * Loses data if there is content, otherwise the type of data; blocks other than text and images, which become text;
 * completion; metadata except child_loop_id; of an error all but variant and text.
 */
export function toPhi(outcome: Outcome): PhiToolResult | PhiToolError {
  if (outcome.type === 'error') return toPhiError(outcome)
  return {
    content: outcome.content?.map(shown) ?? [{ type: 'text', text: textOfData(outcome.data) }],
    details: outcome.details ?? null,
    child_loop_id: outcome.metadata.child_loop_id ?? null,
  }
}

/** undefined if the value is neither a result nor an error of phi. */
export function fromPhi(value: unknown): Reading | undefined {
  const result = returned.safeParse(value)
  if (result.success) {
    const { content, details, child_loop_id, is_error = false, isError = is_error } = result.data
    return {
      body: { ...contentBody(content, isError), ...present({ details: details ?? undefined }) },
      metadata: present({ child_loop_id: child_loop_id ?? undefined }),
    }
  }
  const timeout = timeoutError.safeParse(value).data
  const error = timeout ? { variant: 'Failed' as const, message: TOO_LONG + timeout.message }
    : toolError.safeParse(value).data
  return error && { body: errorBody(codeOf(error), phiErrorText(error)), metadata: {} }
}

/** Loses what toPhi loses, details and child_loop_id; an error becomes its text. */
export function toPhiMessage(outcome: Outcome, timestamp: number): PhiToolResultMessage {
  const text = outcome.type === 'output' ? textOfData(outcome.data) : phiErrorText(toPhiError(outcome))
  return {
    role: 'toolResult',
    toolCallId: outcome.metadata.call_id,
    toolName: outcome.metadata.tool,
    content: outcome.content?.map(shown) ?? [{ type: 'text', text }],
    isError: outcome.type === 'error',
    timestamp,
  }
}

/** undefined if the value is not a result message of phi. */
export function fromPhiMessage(value: unknown): (Reading & { readonly timestamp: number }) | undefined {
  const parsed = toolResultMessage.safeParse(value)
  if (!parsed.success) return undefined
  const { content, isError, timestamp, toolCallId: call_id, toolName: tool } = parsed.data
  return { body: contentBody(content, isError), metadata: { call_id, tool }, timestamp }
}

/** phi has text and images. Other blocks become text. */
const shown = (block: Content): PlainBlock =>
  block.type === 'text' || block.type === 'image' ? block : { type: 'text', text: textOfBlock(block) }

function contentBody(content: readonly Content[], isError: boolean): OutcomeBody {
  const text = textOfContent(content)
  if (!isError) return { type: 'output', data: text ?? null, content }
  return { ...errorBody(codeOfText(text ?? ''), text ?? FAILED_WITHOUT_TEXT), content }
}

function toPhiError({ error, error_text, metadata }: ErrorOutcome): PhiToolError {
  if (error.code === 'ExecutionTimeout') {
    const isKnown = error_text.startsWith(TOO_LONG)
    return { variant: 'Failed', message: isKnown ? error_text : `${TOO_LONG}${metadata.duration_ms / 1000}s` }
  }
  const { variant, prefix } = endsRun(error.code)
    ? rowOf('Cancelled')
    : VARIANTS.find((row) => row.code === error.code) ?? rowOf('Failed')
  if (variant === 'Cancelled') return { variant }
  if (error_text.startsWith(prefix)) return { variant, message: error_text.slice(prefix.length) }
  return { variant, message: variant === 'NotFound' ? metadata.tool : error_text }
}

const errorBody = (code: ErrorCode, error_text: string) =>
  ({ type: 'error' as const, error_text, error: errorOf(code) })

const codeOf = (error: PhiToolError): ErrorCode =>
  error.variant === 'Failed' ? codeOfFailure(error.message) : rowOf(error.variant).code

const codeOfFailure = (text: string): ErrorCode =>
  text.startsWith(TOO_LONG) ? 'ExecutionTimeout' : 'ToolExecutionFailed'

const codeOfText = (text: string): ErrorCode => text.startsWith(TOO_LONG) ? 'ExecutionTimeout'
  : VARIANTS.find(({ variant, prefix }) => variant === 'Cancelled' ? text === prefix : text.startsWith(prefix))!.code

interface PhiCall {
  readonly loop_id: string
  readonly tool_call_id: string
  readonly tool_name: string
}
export type PhiEvent =
  | (PhiCall & { readonly type: 'ToolExecutionStart'; readonly args: Json })
  | (PhiCall & { readonly type: 'ToolExecutionUpdate'; readonly partial_result: PhiToolResult })
  | (PhiCall & { readonly type: 'ProgressMessage'; readonly text: string })
  | (PhiCall & {
    readonly type: 'ToolExecutionEnd'
    readonly result: PhiToolResult
    readonly is_error: boolean
    readonly child_loop_id: string | null
  })
  | { readonly type: 'MessageStart' | 'MessageEnd'; readonly loop_id: string; readonly message: PhiToolResultMessage }

type EndEvent = EventOf<'ToolInvocationSucceeded' | 'ToolInvocationFailed' | 'ToolInvocationCancelled'>

/**
 * The events of phi for one of ours; empty if phi has none. A call starts and ends once, also if it is retried. A call
 * that never began, because it was denied, vetoed or replayed, has no start and no end: only its result.
 */
export function toPhiEvents(event: BulkheadEvent, context: EventContext = {}): readonly PhiEvent[] {
  switch (event.type) {
    case 'ToolInvocationStarted':
      return event.attempt > 1 ? [] : [{ type: 'ToolExecutionStart', ...phiCall(event), args: context.arguments ?? context.args ?? null }]
    case 'ToolInvocationUpdated':
      return [{ type: 'ToolExecutionUpdate', ...phiCall(event), partial_result: partialOf(event.partial) }]
    case 'ToolInvocationProgress': return [{ type: 'ProgressMessage', ...phiCall(event), text: event.text }]
    case 'ToolInvocationSucceeded':
    case 'ToolInvocationFailed': return [...(event.replayed ? [] : [end(event, context)]), ...messages(event, context)]
    case 'ToolInvocationCancelled':
      return [...(hasBegun(event) ? [end(event, context)] : []), ...messages(event, context)]
    default: return []
  }
}

/** A call that was skipped for a user message counts as begun, without an attempt. */
const hasBegun = ({ attempt, errorCode }: EventOf<'ToolInvocationCancelled'>): boolean =>
  attempt > 0 || errorCode === 'SkippedBySteering'

const phiCall = ({ sessionId, callId, tool }: CallEvent): PhiCall =>
  ({ loop_id: sessionId, tool_call_id: callId, tool_name: tool })

const isError = ({ type }: EndEvent): boolean => type !== 'ToolInvocationSucceeded'

const end = (event: EndEvent, { outcome }: EventContext): PhiEvent => ({
  type: 'ToolExecutionEnd',
  ...phiCall(event),
  result: resultOf(event, outcome),
  is_error: isError(event),
  child_loop_id: outcome?.metadata.child_loop_id ?? null,
})

/** An error is a result too: its text is the content. */
function resultOf(event: EndEvent, outcome: Outcome | undefined): PhiToolResult {
  const result = outcome && toPhi(outcome)
  if (result && 'content' in result) return result
  const content = outcome ? toPhiMessage(outcome, 0).content : contentOf(event)
  return { content, details: outcome?.details ?? null, child_loop_id: outcome?.metadata.child_loop_id ?? null }
}

/** A partial result in the form of a result is used as it is; any other value is shown as text. */
function partialOf(partial: Json): PhiToolResult {
  const given = toolResult.safeParse(partial)
  if (given.success) return given.data
  const loop = isJsonObject(partial) ? partial['child_loop_id'] : undefined
  const child_loop_id = typeof loop === 'string' ? loop : null
  return { content: [{ type: 'text', text: textOfData(partial) }], details: null, child_loop_id }
}

function messages(event: EndEvent, { outcome }: EventContext): readonly PhiEvent[] {
  const timestamp = Date.parse(event.at)
  const message = outcome ? toPhiMessage(outcome, timestamp) : {
    role: 'toolResult' as const, toolCallId: event.callId, toolName: event.tool, content: contentOf(event),
    isError: isError(event), timestamp,
  }
  const { sessionId: loop_id } = event
  return [{ type: 'MessageStart', loop_id, message }, { type: 'MessageEnd', loop_id, message }]
}

/** The content of a success is unknown without its outcome. */
function contentOf(event: EndEvent): PhiToolResultMessage['content'] {
  if (event.type === 'ToolInvocationSucceeded') return []
  return [{ type: 'text', text: event.type === 'ToolInvocationFailed' ? event.message : event.reason }]
}

/** What a tool says of itself. */
export interface PhiTool {
  readonly name: string
  readonly label: string
  readonly description: string
  readonly parameters_schema: JsonObject
}

export const toPhiTool = ({ name, label, description, inputSchema }: ToolDefinition): PhiTool =>
  ({ name, label, description, parameters_schema: inputSchema })
