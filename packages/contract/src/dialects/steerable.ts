import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { z } from 'zod'
import type { ErrorCode } from '../model/errors.ts'
import type { BulkheadEvent } from '../model/events.ts'
import type { Completion, Outcome } from '../model/outcome.ts'
import {
  endsRun, errorOf, FAILED_WITHOUT_TEXT, json, present, type CallEvent, type EventContext, type Reading,
} from './reading.ts'

/** Closed: other information about a call is passed separately. */
export const steerableToolCall = z.strictObject({
  id: z.string().min(1),
  name: z.string().min(1),
  arguments: z.record(z.string(), json),
})
export type SteerableToolCall = z.infer<typeof steerableToolCall>

/** Open: unknown fields are kept, and null counts as absent. */
export const steerableToolResult = z.looseObject({
  success: z.boolean(),
  terminal: z.boolean().nullish(),
  needsFollowup: z.boolean().nullish(),
  nextAction: z.string().nullish(),
  message: z.string().nullish(),
  error: z.string().nullish(),
  data: z.record(z.string(), json).nullish(),
})
export interface SteerableToolResult extends Completion {
  readonly success: boolean
  readonly error?: string
  readonly data?: JsonObject
  /** undefined is included for code that is compiled without `exactOptionalPropertyTypes`. */
  readonly [extra: string]: Json | undefined
}

const FIELDS: ReadonlySet<string> = new Set(Object.keys(steerableToolResult.shape))

/** Whether it has no other fields, so that it is more than an object with a member `success`. */
export const hasOnlySteerableFields = (value: JsonObject): boolean => Object.keys(value).every((key) => FIELDS.has(key))

export const fromSteerableCall = (value: unknown): SteerableToolCall | undefined =>
  steerableToolCall.safeParse(value).data

/** Loses content, other details, the error code and the metadata; data that is not an object becomes `{ value }`. */
export function toSteerable(outcome: Outcome): SteerableToolResult {
  const kept = keptFields(outcome.details)
  const extras = Object.fromEntries(Object.entries(kept).filter(([key]) => !FIELDS.has(key)))
  const data = outcome.type === 'output' ? outcome.data : outcome.error.data
  return {
    success: outcome.type === 'output',
    ...completionOf(outcome),
    ...present({
      error: outcome.type === 'output'
        ? textOf(kept['error']) : kept['error'] === null ? undefined : outcome.error_text,
      data: kept['data'] === null || data === null || data === undefined ? undefined : recordOf(data),
    }),
    ...extras,
  }
}

interface CompletionHint {
  readonly success?: boolean | undefined
  readonly terminal?: boolean | undefined
  readonly needsFollowup?: boolean | undefined
}

/** Whether a result ends the run: it is marked as terminal, or it failed and needs no follow-up. */
export function isTerminalResult(result: CompletionHint | null | undefined): boolean {
  if (result === null || result === undefined) return false
  return result.terminal === true || (result.success === false && result.needsFollowup !== true)
}

/** Whether an outcome ends the run. An error of the host does not; an error of a tool does if the tool marks it. */
export const isTerminalOutcome = (outcome: Outcome): boolean =>
  isTerminalResult({ success: outcome.type === 'output', ...completionOf(outcome) })

/** undefined if the value is not a result of steerable. */
export function fromSteerable(value: unknown): Reading | undefined {
  const parsed = steerableToolResult.safeParse(value)
  if (!parsed.success) return undefined
  const { success, terminal, needsFollowup, nextAction, message, error, data, ...others } = withoutNull(parsed.data)
  const extras = others as JsonObject
  const completion: Completion = present({ terminal, needsFollowup, nextAction, message })
  const hasExtras = Object.keys(extras).length > 0
  if (success) {
    const shown = data ?? (hasExtras ? extras : null)
    return {
      body: {
        type: 'output',
        data: shown,
        ...(Object.keys(completion).length > 0 ? { completion } : {}),
        ...details({ ...extras, ...present({ error }), ...(hasExtras && data === undefined ? { data: null } : {}) }),
      },
      metadata: {},
    }
  }
  const fallback = hasExtras ? `The tool failed with ${JSON.stringify(extras)}.` : FAILED_WITHOUT_TEXT
  return {
    body: {
      type: 'error',
      error_text: error ?? message ?? fallback,
      error: errorOf('ToolExecutionFailed', data),
      // Present even if empty: a result of the tool without a follow-up ends the run.
      completion,
      ...details({ ...extras, ...(error === undefined ? { error: null } : {}) }),
    },
    metadata: {},
  }
}

/** The tool's own completion. Without one, an error goes back to the model. A cancellation always ends the run. */
function completionOf(outcome: Outcome): Completion {
  if (outcome.type === 'error' && endsRun(outcome.error.code)) return { ...outcome.completion, terminal: true }
  return outcome.completion ?? (outcome.type === 'error' ? { needsFollowup: true } : {})
}

/** Keeps the fields that have no other place. null marks a known field that was absent. */
const details = (fields: JsonObject): { details?: Json } =>
  Object.keys(fields).length > 0 ? { details: { steerable: fields } } : {}

const keptFields = (kept: Json | undefined): JsonObject =>
  isJsonObject(kept) && isJsonObject(kept['steerable']) ? kept['steerable'] : {}

/** A known field that is null counts as absent. */
function withoutNull(read: z.infer<typeof steerableToolResult>): SteerableToolResult {
  const fields = Object.entries(read).filter(([key, value]) => value !== null || !FIELDS.has(key))
  return Object.fromEntries(fields) as unknown as SteerableToolResult
}

const recordOf = (data: Json): JsonObject => isJsonObject(data) ? data : { value: data }
const textOf = (value: Json | undefined): string | undefined => typeof value === 'string' ? value : undefined

/** The envelope is open: `id` and `name` relate a result to its call. */
export type SteerableEvent =
  | { readonly type: 'tool_call'; readonly payload: SteerableToolCall }
  | { readonly type: 'tool_result'; readonly payload: SteerableToolResult; readonly id: string; readonly name: string }
  | { readonly type: 'budget_exhausted'; readonly message: string; readonly code?: string }
  | { readonly type: 'loader-hint'; readonly hint: string }
  | { readonly type: 'error'; readonly message: string }
  | { readonly type: 'done' }

/** Empty if steerable has no such event. Without the outcome, a result has only its status. */
export function toSteerableEvents(event: BulkheadEvent, context: EventContext = {}): readonly SteerableEvent[] {
  switch (event.type) {
    case 'ToolInvocationProposed': {
      const named = isJsonObject(event.arguments) ? event.arguments : { value: event.arguments }
      return [{ type: 'tool_call', payload: { id: event.callId, name: event.tool, arguments: named } }]
    }
    case 'ToolInvocationSucceeded': return [end(event, context, { success: true })]
    case 'ToolInvocationFailed': return [end(event, context, failed(event.errorCode, event.message))]
    case 'ToolInvocationCancelled': {
      const { errorCode, reason } = event
      const ended = end(event, context, failed(errorCode, reason))
      return errorCode === 'BudgetExhausted'
        ? [ended, { type: 'budget_exhausted', message: reason, ...budgetCode(context) }] : [ended]
    }
    case 'ToolInvocationProgress': return [{ type: 'loader-hint', hint: event.text }]
    case 'SuppressedError': return [{ type: 'error', message: `${event.source}: ${event.message}` }]
    case 'TurnEnded': return [{ type: 'done' }]
    default: return []
  }
}

/** steerable has a code for a limit of calls only. */
function budgetCode({ outcome }: EventContext): { readonly code?: string } {
  const data = outcome?.type === 'error' ? outcome.error.data : undefined
  return isJsonObject(data) && data['limit'] === 'calls' ? { code: 'E_BUDGET_TOOL_CALLS' } : {}
}

const end = (event: CallEvent, { outcome }: EventContext, otherwise: SteerableToolResult): SteerableEvent => ({
  type: 'tool_result', payload: outcome ? toSteerable(outcome) : otherwise, id: event.callId, name: event.tool,
})

const failed = (code: ErrorCode, error: string): SteerableToolResult =>
  ({ success: false, error, ...(endsRun(code) ? { terminal: true } : { needsFollowup: true }) })
