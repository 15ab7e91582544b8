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
/** Of a secret that is looked for across the cut. */
const MAX_SECRET_CHARS = 4_096

/**
 * An event as it is kept, its members in order. Of the arguments of a call there is always a digest, by which they can be
 * recognised, and they themselves where that is wanted. Contract: of a type that is kept.
 */
export function recordOf(event: BulkheadEvent, redaction: Redaction, keepArguments: boolean): Record<string, Json> {
  const members = event as unknown as Readonly<Record<string, Json | undefined>>
  const record: Record<string, Json> = {}
  for (const key of orderOf(event)) {
    const value = members[key]
    if (value === undefined) continue
    if (key === 'args') {
      if (keepArguments) record[key] = redaction.value(value)
      record['argsSha256'] = sha256(canonicalJson(value))
    } else {
      record[key] = typeof value === 'string' && !OWN_WORDS.has(key) ? textOf(key, value, redaction) : value
    }
  }
  return record
}

function textOf(key: string, value: string, redaction: Redaction): string {
  // Cut only afterwards: half a secret would not be known as one.
  const text = value.slice(0, MAX_TEXT_CHARS + MAX_SECRET_CHARS).toWellFormed()
  const redacted = REPEATED_WORDS.has(key) ? redaction.repeated(text) : redaction.text(text)
  return redacted.slice(0, MAX_TEXT_CHARS).toWellFormed()
}

/** Members that say the same for many calls. */
const REPEATED_WORDS: ReadonlySet<string> = new Set(['tool', 'source', 'reason', 'approvalKey'])

/** Members that hold words of the host alone. */
const OWN_WORDS: ReadonlySet<string> = new Set(['type', 'at', 'sessionId', 'decision', 'stage', 'errorClass', 'errorCode', 'from', 'to'])

/** By type: its events have the same members, but for those that may be absent. */
const orders = new Map<EventType, readonly string[]>()

function orderOf(event: BulkheadEvent): readonly string[] {
  const known = orders.get(event.type)
  const keys = Object.keys(event)
  if (known !== undefined && known.length >= keys.length && keys.every((key) => known.includes(key))) return known
  const order = [...new Set([...known ?? [], ...keys])].toSorted()
  orders.set(event.type, order)
  return order
}
