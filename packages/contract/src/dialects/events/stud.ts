import type { ErrorCode } from '../../model/errors.ts'
import type { BulkheadEvent } from '../../model/events.ts'
import type { JsonObject } from '@bulkhead/kit/json'
import type { CallEvent } from './event-context.ts'

export interface StudEvent {
  readonly name: string
  readonly payload: JsonObject
}

/** What stud counts as cancelled because it never ran, where we say with which code it was refused. */
const NEVER_RAN: ReadonlyMap<ErrorCode, 'approval-denied' | 'tool-not-available'> = new Map([
  ...(['ApprovalDenied', 'RoleDenied', 'RuleDenied', 'WatchdogDenied', 'GuardDenied', 'ArgumentsUnsettled', 'HookVetoed'] as const)
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
