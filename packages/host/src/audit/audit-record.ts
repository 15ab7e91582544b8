import { canonicalJson, type BulkheadEvent, type EventType, type Json } from '@bulkhead/contract'
import type { Redaction } from './redaction.ts'
import { sha256 } from '../sha256.ts'

/** What is kept of all that happens: decisions and ends of calls, lives of extensions, words of people, and faults. */
export const KEPT: ReadonlySet<EventType> = new Set<EventType>([
  'ToolInvocationDecided', 'ToolInvocationChanged', 'ToolInvocationSucceeded', 'ToolInvocationFailed', 'ToolInvocationCancelled',
  'LifecycleStateChanged', 'CompartmentEnded', 'ExtensionReloaded', 'ExtensionReloadRefused',
  'InteractionRaised', 'InteractionAnswered', 'ApprovalGranted', 'ApprovalExpired', 'ApprovalRevoked', 'TrustDecision', 'StateSlotDrift', 'SessionOpened', 'SessionClosed',
  'SuppressedError',
])

/** Texts of strangers are bounded here: what is kept is what happened, not all that was said. */
const MAX_TEXT_CHARS = 2_000

/**
 * An event as it is kept, or undefined for one that is not. Of the arguments of a call there is always a digest, by which they
 * can be recognised, and they themselves where that is wanted.
 */
export function recordOf(event: BulkheadEvent, redaction: Redaction, keepArguments: boolean): Record<string, Json> | undefined {
  if (!KEPT.has(event.type)) return undefined
  const record: Record<string, Json> = {}
  for (const [key, value] of Object.entries(event) as [string, Json | undefined][]) {
    if (value === undefined) continue
    if (key === 'args') {
      record['argsSha256'] = sha256(canonicalJson(value))
      if (keepArguments) record[key] = redaction.value(value)
    } else {
      record[key] = typeof value === 'string' ? redaction.text(value.slice(0, MAX_TEXT_CHARS).toWellFormed()) : value
    }
  }
  return record
}
