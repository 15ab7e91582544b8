import type { AuditForm, EventOf, OutcomeOrigin } from '@bulkhead/contract'
import { quoted } from '../model/quoted.ts'
import { textOf } from './audit-record.ts'
import type { Redaction } from './redaction.ts'

export type CallEvent = EventOf<'ToolInvocationDecided' | 'ToolInvocationSucceeded' | 'ToolInvocationFailed' | 'ToolInvocationCancelled'>

interface KnownForm {
  readonly type: CallEvent['type']
  readonly tool: string
  readonly origin: OutcomeOrigin | null
  readonly words: Words
  readonly form: AuditForm
}

/** What a decision says that it says of many calls. */
type Words = Pick<EventOf<'ToolInvocationDecided'>, 'decision' | 'stage' | 'source' | 'reason'>

/** Of all sessions; more are forgotten all at once. */
const MOST_FORMS = 1_024

/**
 * What records of calls have in common is most of what they say: which tool, of which origin with which digests, and why it was
 * allowed. It is searched for secrets and put together once, and found again by what it was made of.
 */
export class CallForms {
  readonly #redaction: Redaction
  readonly #keepArguments: boolean
  /** By session. */
  readonly #known = new Map<string, KnownForm[]>()
  #count = 0

  constructor(redaction: Redaction, keepArguments: boolean) {
    this.#redaction = redaction
    this.#keepArguments = keepArguments
  }

  formOf(event: CallEvent): AuditForm {
    const { type, tool, origin, sessionId } = event
    const words = type === 'ToolInvocationDecided' ? event : undefined
    const known = this.#known.get(sessionId)
    if (known) {
      for (const other of known) {
        if (other.origin === origin && other.type === type && other.tool === tool && (!words || isSame(other.words, words))) return other.form
      }
    }
    return this.#learn(event, words)
  }

  /** `number`: that of its form. What is made of numbers and the host's own words is put together as it is, and needs no escapes. */
  rowOf(event: CallEvent, number: number): string {
    const redaction = this.#redaction
    const head = `${number},"${event.at}",${quoted(textOf(event.callId, redaction))}`
    switch (event.type) {
      case 'ToolInvocationDecided': {
        const key = quoted(redaction.repeated(event.approvalKey.toWellFormed()))
        return this.#keepArguments ? `${head},${key},${JSON.stringify(redaction.value(event.args))}` : `${head},${key}`
      }
      case 'ToolInvocationSucceeded':
        return `${head},${event.durationMs}`
      case 'ToolInvocationFailed': {
        const message = JSON.stringify(textOf(event.message, redaction))
        return `${head},${event.durationMs},"${event.errorClass}","${event.errorCode}",${message}`
      }
      case 'ToolInvocationCancelled': {
        const reason = JSON.stringify(textOf(event.reason, redaction))
        return `${head},${event.durationMs},${event.attempt},"${event.errorCode}",${reason}`
      }
    }
  }

  #learn({ type, sessionId, tool, origin }: CallEvent, words: Words | undefined): AuditForm {
    if (this.#count >= MOST_FORMS) {
      this.#known.clear()
      this.#count = 0
    }
    this.#count++
    const redaction = this.#redaction
    const same = { type, sessionId, tool: textOf(tool, redaction), origin: origin && { ...origin } }
    const { decision, stage, source, reason } = words ?? NO_WORDS
    const form: AuditForm = words
      ? {
        same: { ...same, decision, stage, source: textOf(source, redaction), reason: textOf(reason, redaction) },
        own: this.#keepArguments ? DECIDED_WITH_ARGUMENTS : OWN[type],
      }
      : { same, own: OWN[type] }
    this.#known.getOrInsertComputed(sessionId, () => []).push({ type, tool, origin, words: { decision, stage, source, reason }, form })
    return form
  }
}

const NO_WORDS: Words = { decision: 'deny', stage: '', source: '', reason: '' }

const isSame = (a: Words, b: Words): boolean =>
  a.reason === b.reason && a.source === b.source && a.stage === b.stage && a.decision === b.decision

/** In the order of the values in a row. Of the arguments there is always a digest, by which they can be recognised. */
const OWN: Readonly<Record<CallEvent['type'], readonly string[]>> = {
  ToolInvocationDecided: ['at', 'callId', 'approvalKey', 'argsSha256'],
  ToolInvocationSucceeded: ['at', 'callId', 'durationMs'],
  ToolInvocationFailed: ['at', 'callId', 'durationMs', 'errorClass', 'errorCode', 'message'],
  ToolInvocationCancelled: ['at', 'callId', 'durationMs', 'attempt', 'errorCode', 'reason'],
}
const DECIDED_WITH_ARGUMENTS = ['at', 'callId', 'approvalKey', 'args', 'argsSha256']
