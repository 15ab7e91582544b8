import { z } from 'zod'
import { isTerminalResult } from '../model/completion.ts'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { Completion, Outcome } from '../model/outcome.ts'
import { FAILED_WITHOUT_TEXT } from './content.ts'
import { endsRun, errorOf, json, present, type Reading } from './reading.ts'

/** Closed: what else is known of a call travels beside it. */
export const steerableToolCall = z.strictObject({
  id: z.string().min(1),
  name: z.string().min(1),
  arguments: z.record(z.string(), json),
})
export type SteerableToolCall = z.infer<typeof steerableToolCall>

/** Open: fields of a later version are kept. Serialisers that write null for an absent field are understood. */
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
  /** With undefined, or whoever compiles without `exactOptionalPropertyTypes` could not use this type. */
  readonly [extra: string]: Json | undefined
}

const FIELDS: ReadonlySet<string> = new Set(Object.keys(steerableToolResult.shape))

export const fromSteerableCall = (value: unknown): SteerableToolCall | undefined => steerableToolCall.safeParse(value).data

/** Loses content, other details, the code of an error and the metadata; data that is no object becomes `{ value }`. */
export function toSteerable(outcome: Outcome): SteerableToolResult {
  const kept = keptFields(outcome.details)
  const extras = Object.fromEntries(Object.entries(kept).filter(([key]) => !FIELDS.has(key)))
  const data = outcome.type === 'output' ? outcome.data : outcome.error.data
  return {
    success: outcome.type === 'output',
    ...completionOf(outcome),
    ...present({
      error: outcome.type === 'output' ? textOf(kept['error']) : kept['error'] === null ? undefined : outcome.error_text,
      data: kept['data'] === null || data === null || data === undefined ? undefined : recordOf(data),
    }),
    ...extras,
  }
}

/** Whether the run ends with this outcome. A host's own error does not end it; a tool's does where the tool said so. */
export const isTerminalOutcome = (outcome: Outcome): boolean =>
  isTerminalResult({ success: outcome.type === 'output', ...completionOf(outcome) })

/** undefined when the value is not steerable's result. */
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
  return {
    body: {
      type: 'error',
      error_text: error ?? message ?? (hasExtras ? `The tool failed with ${JSON.stringify(extras)}.` : FAILED_WITHOUT_TEXT),
      error: errorOf('ToolExecutionFailed', data),
      // Present even when empty: a result that names no follow-up ends the run, and it was the tool that said so.
      completion,
      ...details({ ...extras, ...(error === undefined ? { error: null } : {}) }),
    },
    metadata: {},
  }
}

/**
 * A tool that spoke for itself is quoted. Where nobody did, the error goes back to the model; what was cancelled ends
 * the run in any case.
 */
function completionOf(outcome: Outcome): Completion {
  if (outcome.type === 'error' && endsRun(outcome.error.code)) return { ...outcome.completion, terminal: true }
  return outcome.completion ?? (outcome.type === 'error' ? { needsFollowup: true } : {})
}

/** Where fields without a place of their own are kept, null standing for a known field that was not there. */
const details = (fields: JsonObject): { details?: Json } =>
  Object.keys(fields).length > 0 ? { details: { steerable: fields } } : {}

const keptFields = (kept: Json | undefined): JsonObject =>
  isJsonObject(kept) && isJsonObject(kept['steerable']) ? kept['steerable'] : {}

/** A known field that is null is a field that is not there. */
function withoutNull(read: z.infer<typeof steerableToolResult>): SteerableToolResult {
  const fields = Object.entries(read).filter(([key, value]) => value !== null || !FIELDS.has(key))
  return Object.fromEntries(fields) as unknown as SteerableToolResult
}

const recordOf = (data: Json): JsonObject => isJsonObject(data) ? data : { value: data }
const textOf = (value: Json | undefined): string | undefined => typeof value === 'string' ? value : undefined
