import type { AuditForm, BulkheadEvent, EventType } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { Redaction } from './redaction.ts'

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

/** Where so much was taken out that too little is left to be sure of. */
const NOT_KEPT = '[the rest is not kept: it may hold half of a secret]'

/** The text of a stranger, as it is kept. */
export function textOf(text: string, redaction: Redaction): string {
  if (text.length <= MAX_TEXT_CHARS) return redaction.text(text.toWellFormed())
  const seen = text.slice(0, MAX_TEXT_CHARS + MAX_SECRET_CHARS)
  const redacted = redaction.text(seen.toWellFormed())
  // Cut only afterwards: half a secret would not be known as one, and at the end of what was looked at there may be one.
  const whole = Math.max(0, redacted.length - MAX_SECRET_CHARS)
  if (seen.length === text.length || whole >= MAX_TEXT_CHARS) return redacted.slice(0, MAX_TEXT_CHARS).toWellFormed()
  return redacted.slice(0, Math.min(MAX_TEXT_CHARS - NOT_KEPT.length, whole)).toWellFormed() + NOT_KEPT
}

/** An event that happens now and then, as a form of its own. Contract: of a type that is kept, and without arguments. */
export function formOf(event: BulkheadEvent, redaction: Redaction): AuditForm {
  const same: Record<string, Json> = {}
  for (const [key, value] of Object.entries(event) as Iterable<[string, Json | undefined]>) {
    if (value === undefined) continue
    same[key] = typeof value === 'string' && !OWN_WORDS.has(key) ? textOf(value, redaction) : value
  }
  return { same, own: [] }
}

/** Members that hold words of the host alone. */
const OWN_WORDS: ReadonlySet<string> = new Set(['type', 'at', 'sessionId', 'decision', 'stage', 'errorClass', 'errorCode', 'from', 'to'])
