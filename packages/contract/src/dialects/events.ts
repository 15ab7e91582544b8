import type { ErrorCode } from '../errors.ts'
import type { BulkheadEvent } from '../events.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import type { Outcome } from '../outcome.ts'
import { endsRun } from './reading.ts'
import { toPhi, type PhiToolError, type PhiToolResult } from './phi.ts'
import { toSteerable, type SteerableToolCall, type SteerableToolResult } from './steerable.ts'

/** What the other worlds put into an event and ours does not carry. Whoever has it at hand may add it. */
export interface EventContext {
  readonly args?: Json
  readonly outcome?: Outcome
}

interface PhiCall {
  readonly loop_id: string
  readonly tool_call_id: string
  readonly tool_name: string
}
export type PhiEvent = PhiCall & (
  | { readonly type: 'ToolExecutionStart'; readonly args: Json }
  | { readonly type: 'ToolExecutionUpdate'; readonly partial_result: Json }
  | { readonly type: 'ProgressMessage'; readonly text: string }
  | {
    readonly type: 'ToolExecutionEnd'
    readonly result: PhiToolResult | PhiToolError | null
    readonly is_error: boolean
    readonly child_loop_id: string | null
  }
)

/** undefined when phi has no such event. A call that a before-hook vetoed has neither start nor end there. */
export function toPhiEvent(event: BulkheadEvent, context: EventContext = {}): PhiEvent | undefined {
  switch (event.type) {
    case 'ToolInvocationStarted': return { type: 'ToolExecutionStart', ...phiCall(event), args: context.args ?? null }
    case 'ToolInvocationUpdated': return { type: 'ToolExecutionUpdate', ...phiCall(event), partial_result: event.partial }
    case 'ToolInvocationProgress': return { type: 'ProgressMessage', ...phiCall(event), text: event.text }
    case 'ToolInvocationSucceeded': return phiEnd(event, false, context)
    case 'ToolInvocationFailed':
    case 'ToolInvocationCancelled': return event.errorCode === 'HookVetoed' ? undefined : phiEnd(event, true, context)
    default: return undefined
  }
}

type CallEvent = Extract<BulkheadEvent, { readonly callId: string; readonly tool: string }>
const phiCall = ({ sessionId, callId, tool }: CallEvent): PhiCall =>
  ({ loop_id: sessionId, tool_call_id: callId, tool_name: tool })
const phiEnd = (event: CallEvent, is_error: boolean, { outcome }: EventContext): PhiEvent => ({
  type: 'ToolExecutionEnd',
  ...phiCall(event),
  result: outcome ? toPhi(outcome) : null,
  is_error,
  child_loop_id: outcome?.metadata.child_loop_id ?? null,
})

export type SteerableEvent =
  | { readonly type: 'tool_call'; readonly toolCall: SteerableToolCall }
  | { readonly type: 'tool_result'; readonly id: string; readonly name: string; readonly result: SteerableToolResult }
  | { readonly type: 'loader-hint'; readonly message: string }
  | { readonly type: 'error'; readonly error: string }
  | { readonly type: 'done' }

/** undefined when steerable's stream has no such event. Without the outcome a result says no more than how it ended. */
export function toSteerableEvent(event: BulkheadEvent, context: EventContext = {}): SteerableEvent | undefined {
  switch (event.type) {
    case 'ToolInvocationProposed': {
      const named = isJsonObject(event.args) ? event.args : { value: event.args }
      return { type: 'tool_call', toolCall: { id: event.callId, name: event.tool, arguments: named } }
    }
    case 'ToolInvocationSucceeded': return steerableEnd(event, context, { success: true })
    case 'ToolInvocationFailed': return steerableEnd(event, context, failed(event.errorCode, event.message))
    case 'ToolInvocationCancelled': return steerableEnd(event, context, failed(event.errorCode, event.reason))
    case 'ToolInvocationProgress': return { type: 'loader-hint', message: event.text }
    case 'SuppressedError': return { type: 'error', error: `${event.source}: ${event.message}` }
    case 'TurnEnded': return { type: 'done' }
    default: return undefined
  }
}

const steerableEnd = (event: CallEvent, { outcome }: EventContext, otherwise: SteerableToolResult): SteerableEvent =>
  ({ type: 'tool_result', id: event.callId, name: event.tool, result: outcome ? toSteerable(outcome) : otherwise })

const failed = (code: ErrorCode, error: string): SteerableToolResult =>
  ({ success: false, error, ...(endsRun(code) ? { terminal: true } : { needsFollowup: true }) })

export interface StudEvent {
  readonly name: string
  readonly payload: JsonObject
}

/** What stud counts as cancelled because it never ran, where we say with which code it was refused. */
const NEVER_RAN: ReadonlyMap<ErrorCode, 'approval-denied' | 'tool-not-available'> = new Map([
  ...(['ApprovalDenied', 'RoleDenied', 'RuleDenied', 'WatchdogDenied', 'GuardDenied', 'HookVetoed'] as const)
    .map((code) => [code, 'approval-denied'] as const),
  ...(['ToolNotRegistered', 'ToolsDisabled'] as const).map((code) => [code, 'tool-not-available'] as const),
])

/** undefined when stud has no such event. */
export function toStudEvent(event: BulkheadEvent): StudEvent | undefined {
  switch (event.type) {
    case 'ToolInvocationProposed': return { name: event.type, payload: { ...studCall(event), args: event.args } }
    case 'ToolInvocationStarted': return { name: event.type, payload: studCall(event) }
    case 'ToolInvocationSucceeded': return { name: event.type, payload: { ...studCall(event), durationMs: event.durationMs } }
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
    case 'LifecyclePhaseStart': return { name: event.type, payload: { extensionId: event.extensionId, phase: event.phase } }
    case 'LifecyclePhaseEnd': {
      const { extensionId, phase, durationMs } = event
      return { name: event.type, payload: { extensionId, phase, durationMs } }
    }
    case 'ExtensionReloaded':
    case 'ExtensionReloadRefused': return { name: event.type, payload: { extensionId: event.extensionId } }
    case 'InteractionRaised': return { name: event.type, payload: { correlationId: event.correlationId, kind: event.kind } }
    case 'InteractionAnswered': return { name: event.type, payload: { correlationId: event.correlationId, status: event.status } }
    case 'TrustDecision': return { name: event.type, payload: { canonicalPath: event.path, decision: event.decision } }
    case 'StateSlotDrift': {
      const { extensionId, storedVersion, currentVersion, decision } = event
      return { name: event.type, payload: { extensionId, storedVersion, currentVersion, decision } }
    }
    case 'SuppressedError': return { name: event.type, payload: { reason: event.source, cause: event.message, at: event.at } }
    case 'TurnEnded': return { name: 'SessionTurnEnd', payload: { sessionId: event.sessionId } }
    default: return undefined
  }
}

/** With the layer a tool came from: stud's audit always names it. */
const studCall = ({ callId, tool, origin }: CallEvent): JsonObject =>
  ({ toolCallId: callId, toolName: tool, layer: origin?.layer ?? null })
