import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { z } from 'zod'
import { ERRORS, isErrorCode, type ErrorCode } from '../model/errors.ts'
import type { BulkheadEvent } from '../model/events.ts'
import { CONTRACT_VERSION } from '../model/names.ts'
import type { ErrorOutcome, Outcome } from '../model/outcome.ts'
import type { ToolDefinition } from '../ports/embedder.ts'
import { errorOf, json, present, type CallEvent, type EventContext, type Reading } from './reading.ts'

const STUD_CLASSES = [
  'Validation', 'ProviderTransient', 'ProviderCapability', 'ToolTransient', 'ToolTerminal', 'Session', 'Cancellation',
  'ExtensionHost',
] as const
type StudClass = (typeof STUD_CLASSES)[number]

const studError = z.strictObject({
  class: z.enum(STUD_CLASSES), code: z.string().min(1), context: z.record(z.string(), json),
})
const result = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), value: json }),
  z.strictObject({ ok: z.literal(false), error: studError }),
])
const returned = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), value: json }),
  z.strictObject({ ok: z.literal(false), error: studError.partial({ context: true }) }),
])

const originalError = studError.omit({ context: true })

export type StudResult = z.infer<typeof result>

/** stud has the same codes as we do, except these. */
const FOREIGN: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ['Forbidden', 'CapabilityDenied'], ['CommandRejected', 'WatchdogDenied'],
])
const BY_CLASS: Readonly<Partial<Record<StudClass, ErrorCode>>> = {
  ToolTransient: 'ResourceBusy', ProviderTransient: 'ResourceBusy', Cancellation: 'ToolCancelled',
}

/** Loses content, details, completion and all metadata; error data that is not an object becomes `{ value }`. */
export function toStud(outcome: Outcome): StudResult {
  return outcome.type === 'output' ? { ok: true, value: outcome.data } : { ok: false, error: toStudError(outcome) }
}

/** undefined if the value is not a result of stud. */
export function fromStud(value: unknown): Reading | undefined {
  const parsed = returned.safeParse(value)
  if (!parsed.success) return undefined
  const { data: read } = parsed
  return {
    body: read.ok
      ? { type: 'output', data: read.value }
      : errorBody(read.error.class, read.error.code, read.error.context ?? {}),
    metadata: {},
  }
}

function codeOf(cls: StudClass, code: string): ErrorCode {
  return FOREIGN.get(code) ?? (isErrorCode(code) ? code : BY_CLASS[cls] ?? 'ToolExecutionFailed')
}

/** The text for the model is `message` in the context. Class and code are kept in the data if ours differ. */
function errorBody(cls: StudClass, code: string, context: JsonObject): Omit<ErrorOutcome, 'metadata'> {
  const { message, ...rest } = context
  const ours = codeOf(cls, code)
  const facts: JsonObject = {
    ...(typeof message === 'string' || message === undefined ? rest : context),
    ...(ours === code && ERRORS[ours].class === cls ? {} : { stud: { class: cls, code } }),
  }
  return {
    type: 'error',
    error_text: typeof message === 'string' ? message : wordless(cls, code),
    error: errorOf(ours, Object.keys(facts).length > 0 ? facts : undefined),
  }
}

function toStudError({ error, error_text }: ErrorOutcome): z.infer<typeof studError> {
  const { stud, ...rest } = contextOf(error.data)
  const original = originalError.safeParse(stud).data
  // Used only if it still means the code of the outcome.
  const isSame = original !== undefined && codeOf(original.class, original.code) === error.code
  const named = isSame ? original : { class: ERRORS[error.code].class, code: error.code }
  const facts = isSame ? rest : contextOf(error.data)
  const isDefault = error_text === wordless(named.class, named.code)
  return { ...named, context: isDefault ? facts : { ...facts, message: error_text } }
}

const contextOf = (data: Json | undefined): JsonObject =>
  data === undefined ? {} : isJsonObject(data) ? data : { value: data }
const wordless = (cls: StudClass, code: string): string => `The tool failed with ${cls}/${code} and did not say more.`

export interface StudEvent {
  readonly name: string
  readonly payload: JsonObject
}

/** Calls that never ran. stud reports them as cancelled; we have the code of the denial. */
const NEVER_RAN: ReadonlyMap<ErrorCode, 'approval-denied' | 'tool-not-available'> = new Map([
  ...([
    'ApprovalDenied', 'RoleDenied', 'RuleDenied', 'WatchdogDenied', 'GuardDenied', 'ArgumentsUnsettled', 'HookVetoed',
  ] as const).map((code) => [code, 'approval-denied'] as const),
  ...(['ToolNotRegistered', 'ToolsDisabled'] as const).map((code) => [code, 'tool-not-available'] as const),
])

/** undefined if stud has no such event. */
export function toStudEvent(event: BulkheadEvent, context: EventContext = {}): StudEvent | undefined {
  switch (event.type) {
    case 'ToolInvocationProposed': return { name: event.type, payload: { ...studCall(event), args: event.arguments } }
    case 'ToolInvocationStarted':
      return { name: event.type, payload: { ...studCall(event), argsSummary: summaryOf(context.arguments ?? context.args) } }
    case 'ToolInvocationSucceeded':
      return { name: event.type, payload: { ...studCall(event), durationMs: event.durationMs } }
    case 'ToolInvocationFailed': {
      const { durationMs, errorClass, errorCode, message } = event
      const reason = NEVER_RAN.get(errorCode)
      if (reason) return { name: 'ToolInvocationCancelled', payload: { ...studCall(event), durationMs, reason } }
      return { name: event.type, payload: { ...studCall(event), durationMs, errorClass, errorCode, message } }
    }
    case 'ToolInvocationCancelled': {
      const reason = NEVER_RAN.get(event.errorCode) ?? 'session-cancelled'
      return { name: event.type, payload: { ...studCall(event), durationMs: event.durationMs, reason } }
    }
    case 'LifecyclePhaseStart':
      return { name: event.type, payload: { extensionId: event.extensionId, phase: event.phase } }
    case 'LifecyclePhaseEnd': {
      const { extensionId, phase, durationMs } = event
      return { name: event.type, payload: { extensionId, phase, durationMs } }
    }
    case 'ExtensionReloaded':
    case 'ExtensionReloadRefused': return { name: event.type, payload: { extensionId: event.extensionId } }
    case 'InteractionRaised':
      return { name: event.type, payload: { correlationId: event.correlationId, kind: event.kind } }
    case 'InteractionAnswered':
      return { name: event.type, payload: { correlationId: event.correlationId, status: event.status } }
    case 'TrustDecision': return { name: event.type, payload: { canonicalPath: event.path, decision: event.decision } }
    case 'StateSlotDrift': {
      const { extensionId, storedVersion, currentVersion, decision } = event
      return { name: event.type, payload: { extensionId, storedVersion, currentVersion, decision } }
    }
    case 'SuppressedError':
      return { name: event.type, payload: { reason: event.source, cause: event.message, at: event.at } }
    case 'TurnBegan': return { name: 'SessionTurnStart', payload: { sessionId: event.sessionId } }
    case 'TurnEnded': return { name: 'SessionTurnEnd', payload: { sessionId: event.sessionId } }
    default: return undefined
  }
}

/** stud's audit always contains the layer of a tool. */
const studCall = ({ callId, tool, origin }: CallEvent): JsonObject =>
  ({ toolCallId: callId, toolName: tool, layer: origin?.layer ?? null })

const SUMMARY_CHARS = 120
/** One line for a person. Empty if the arguments are unknown. */
const summaryOf = (args: Json | undefined): string =>
  args === undefined ? '' : JSON.stringify(args).slice(0, SUMMARY_CHARS).toWellFormed()

/** The contract of a tool, without the parts that are code. The manifest has the other fields. */
export interface StudTool {
  readonly kind: 'Tool'
  readonly contractVersion: string
  readonly name: string
  readonly inputSchema: JsonObject
  readonly outputSchema?: JsonObject
  readonly executor: 'local' | 'remote'
  readonly gated: boolean
}

export const toStudTool = ({ name, inputSchema, outputSchema, executor, gated }: ToolDefinition): StudTool => ({
  kind: 'Tool', contractVersion: CONTRACT_VERSION, name, inputSchema, ...present({ outputSchema }), executor, gated,
})
