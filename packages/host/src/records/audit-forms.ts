import { hash } from 'node:crypto'
import {
  auditRecord, type AuditForm, type AuditGroup, type AuditRow, type BulkheadEvent, type EndedUse, type EventOf, type EventType,
  type OutcomeOrigin,
} from '@bulkhead/contract'
import { canonicalJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { Redaction } from './redaction.ts'

/** The events that the audit records. */
export const KEPT: ReadonlySet<EventType> = new Set<EventType>([
  'ToolInvocationDecided', 'ToolInvocationChanged', 'ToolInvocationSucceeded', 'ToolInvocationFailed',
  'ToolInvocationCancelled',
  'LifecycleStateChanged', 'CompartmentEnded', 'ExtensionReloaded', 'ExtensionReloadRefused',
  'InteractionRaised', 'InteractionAnswered', 'ApprovalGranted', 'ApprovalExpired', 'ApprovalRevoked', 'TrustDecision',
  'StateSlotDrift', 'SessionOpened', 'SessionClosed', 'KeyUsed', 'KeyRefused',
  'SuppressedError',
])

/** The length limit of third-party strings. */
const MAX_TEXT_CHARS = 2_000
/** The same for what a call used: there may be many. */
const MAX_USE_CHARS = 300
/** The longest secret that is found across the cut. */
const MAX_SECRET_CHARS = 4_096

/** Replaces a rest that is too short to be free of half a secret. */
const NOT_KEPT = '[the rest is not kept: it may hold half of a secret]'

/** A third-party string as it is recorded. */
export function textOf(text: string, redaction: Redaction, most = MAX_TEXT_CHARS): string {
  if (text.length <= most) return redaction.text(text.toWellFormed())
  const seen = text.slice(0, most + MAX_SECRET_CHARS)
  const redacted = redaction.text(seen.toWellFormed())
  // Cut after redaction: half a secret would not be found, and the end of the examined part may hold one.
  const whole = Math.max(0, redacted.length - MAX_SECRET_CHARS)
  if (seen.length === text.length || whole >= most) return redacted.slice(0, most).toWellFormed()
  return redacted.slice(0, Math.min(most - NOT_KEPT.length, whole)).toWellFormed() + NOT_KEPT
}

/** A rare event as its own form. Contract: its type is recorded, and it has no arguments. */
function formOf(event: BulkheadEvent, redaction: Redaction): AuditForm {
  const same: Record<string, Json> = {}
  for (const [key, value] of Object.entries(event) as Iterable<[string, Json | undefined]>) {
    if (value === undefined) continue
    same[key] = typeof value === 'string' && !OWN_WORDS.has(key) ? textOf(value, redaction) : value
  }
  return { same, own: [] }
}

/** Members with strings of the host only. */
const OWN_WORDS: ReadonlySet<string> =
  new Set(['type', 'at', 'sessionId', 'decision', 'stage', 'errorClass', 'errorCode', 'from', 'to'])

export type CallEvent =
  EventOf<'ToolInvocationDecided' | 'ToolInvocationSucceeded' | 'ToolInvocationFailed' | 'ToolInvocationCancelled'>

interface KnownForm {
  readonly type: CallEvent['type']
  readonly tool: string
  readonly origin: OutcomeOrigin | null
  /** Which members the event has that others of its type lack. */
  readonly present: number
  readonly words: Words
  readonly form: AuditForm
}

/** The part of a decision that many calls share. */
type Words = Pick<EventOf<'ToolInvocationDecided'>, 'decision' | 'stage' | 'source' | 'reason' | 'program' | 'use'>

/** For all sessions. Beyond that the cache is cleared. */
const MOST_FORMS = 1_024

/**
 * Records of calls have most of their data in common: tool, origin, digests and the reason of the decision. That part
 * is redacted and serialised once, and cached. Without the cache a guarded call takes 19 % more processor time of the
 * host (64 abreast, process).
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
    const present = presentIn(event)
    const known = this.#known.get(sessionId)
    if (known) {
      for (const other of known) {
        const isSameCall = other.origin === origin && other.type === type && other.tool === tool && other.present === present
        if (isSameCall && (!words || isSame(other.words, words))) return other.form
      }
    }
    return this.#learn(event, words, present)
  }

  /**
   * `number`: that of its form. Numbers and the host's own words need no escapes, so they are concatenated as they are.
   */
  rowOf(event: CallEvent, number: number): string {
    const redaction = this.#redaction
    const head = `${number},"${event.at}",${JSON.stringify(textOf(event.callId, redaction))}`
    switch (event.type) {
      case 'ToolInvocationDecided': {
        const key = JSON.stringify(redaction.repeated(event.approvalKey.toWellFormed()))
        const parent = event.parentCallId === undefined ? '' : `,${JSON.stringify(textOf(event.parentCallId, redaction))}`
        const args = this.#keepArguments ? `,${JSON.stringify(redaction.value(event.arguments))}` : ''
        return `${head},${key}${parent}${args}`
      }
      case 'ToolInvocationSucceeded':
        return `${head},${event.durationMs}${this.#endOf(event)}`
      case 'ToolInvocationFailed': {
        const message = JSON.stringify(textOf(event.message, redaction))
        return `${head},${event.durationMs},"${event.errorClass}","${event.errorCode}",${message}${this.#endOf(event)}`
      }
      case 'ToolInvocationCancelled': {
        const reason = JSON.stringify(textOf(event.reason, redaction))
        return `${head},${event.durationMs},"${event.errorCode}",${reason}${this.#endOf(event)}`
      }
    }
  }

  /** In the order of `OF_ENDS`. */
  #endOf(event: EndEvent): string {
    const { attempt, began, replayed, phases, uses, moreUses } = event
    const chars = event.type === 'ToolInvocationSucceeded' ? event.resultChars : undefined
    const words = began?.map((what) => textOf(what, this.#redaction))
    return `${attempt === undefined ? '' : `,${attempt}`}${words === undefined ? '' : `,${JSON.stringify(words)}`}`
      + `${chars === undefined ? '' : `,${chars}`}${replayed ? ',true' : ''}`
      + `${phases === undefined ? '' : `,${JSON.stringify(phases)}`}${uses === undefined ? '' : `,${this.#usesOf(uses)}`}`
      + `${moreUses === undefined ? '' : `,${moreUses}`}`
  }

  #usesOf(uses: readonly EndedUse[]): string {
    return JSON.stringify(uses.map((use) => ({ ...use, subject: textOf(use.subject, this.#redaction, MAX_USE_CHARS) })))
  }

  #learn({ type, sessionId, principal, tool, origin }: CallEvent, words: Words | undefined, present: number): AuditForm {
    if (this.#count >= MOST_FORMS) {
      this.#known.clear()
      this.#count = 0
    }
    this.#count++
    const redaction = this.#redaction
    const same = {
      type, sessionId, ...(principal !== undefined && { principal: textOf(principal, redaction) }),
      tool: textOf(tool, redaction), origin: origin && { ...origin },
    }
    const { decision, stage, source, reason, program, use } = words ?? NO_WORDS
    const form: AuditForm = words
      ? {
        same: {
          ...same, decision, stage, source: textOf(source, redaction), reason: textOf(reason, redaction),
          ...(program !== undefined && { program: textOf(program, redaction) }), ...(use !== undefined && { use }),
        },
        own: [
          ...OWN[type], ...membersIn(OF_DECISIONS, present), ...(this.#keepArguments ? ['args'] : []), 'argsSha256',
        ],
      }
      : { same, own: [...OWN[type], ...membersIn(OF_ENDS, present)] }
    this.#known.getOrInsertComputed(sessionId, () => []).push({
      type, tool, origin, present, form,
      words: { decision, stage, source, reason, ...(program !== undefined && { program }), ...(use !== undefined && { use }) },
    })
    return form
  }
}

const NO_WORDS: Words = { decision: 'deny', stage: '', source: '', reason: '' }

const isSame = (a: Words, b: Words): boolean =>
  a.reason === b.reason && a.source === b.source && a.stage === b.stage && a.decision === b.decision
  && a.program === b.program && a.use === b.use

/** In the order of the values in a row. Of the arguments there is always a digest, by which they can be recognised. */
const OWN: Readonly<Record<CallEvent['type'], readonly string[]>> = {
  ToolInvocationDecided: ['at', 'callId', 'approvalKey'],
  ToolInvocationSucceeded: ['at', 'callId', 'durationMs'],
  ToolInvocationFailed: ['at', 'callId', 'durationMs', 'errorClass', 'errorCode', 'message'],
  ToolInvocationCancelled: ['at', 'callId', 'durationMs', 'errorCode', 'reason'],
}

/** Members that only some events have. They follow the others in a row. */
const OF_DECISIONS = ['parentCallId'] as const
const OF_ENDS = ['attempt', 'began', 'resultChars', 'replayed', 'phases', 'uses', 'moreUses'] as const
type EndEvent = Exclude<CallEvent, { readonly type: 'ToolInvocationDecided' }>

/** One bit for each of those members. */
function presentIn(event: CallEvent): number {
  if (event.type === 'ToolInvocationDecided') return event.parentCallId === undefined ? 0 : 1
  return (event.attempt === undefined ? 0 : 1) | (event.began === undefined ? 0 : 2)
    | (event.type === 'ToolInvocationSucceeded' && event.resultChars !== undefined ? 4 : 0) | (event.replayed ? 8 : 0)
    | (event.phases === undefined ? 0 : 16) | (event.uses === undefined ? 0 : 32) | (event.moreUses === undefined ? 0 : 64)
}

const membersIn = (names: readonly string[], present: number): readonly string[] =>
  names.filter((_, bit) => (present & (1 << bit)) !== 0)

/** Records that will be written together. */
export class AuditBatch implements AuditGroup {
  readonly forms: AuditForm[] = []
  readonly rows: string[] = []
  readonly texts: (string | undefined)[] = []
  /** About how many characters wait here. */
  chars = 0
  readonly #numbers = new Map<AuditForm, number>()

  add(event: BulkheadEvent, calls: CallForms, redaction: Redaction): void {
    switch (event.type) {
      case 'ToolInvocationDecided':
      case 'ToolInvocationSucceeded':
      case 'ToolInvocationFailed':
      case 'ToolInvocationCancelled':
        this.#push(
          calls.rowOf(event, this.#numberOf(calls.formOf(event))),
          event.type === 'ToolInvocationDecided' ? canonicalJson(event.arguments) : undefined,
        )
        break
      default:
        this.#push(String(this.#numberOf(formOf(event, redaction))), undefined)
    }
  }

  /** Writes the number of lost records into the first one. */
  noteLost(count: number): void {
    const [number, ...values] = rowIn(this.rows[0]!)
    const form = this.forms[number]!
    const row = [this.#numberOf({ ...form, own: ['lostBefore', ...form.own] }), count, ...values]
    this.rows[0] = JSON.stringify(row).slice(1, -1)
  }

  /** For a store that takes them one by one. */
  records(): readonly JsonObject[] {
    return this.rows.map((values, index) => {
      const row = rowIn(values)
      const text = this.texts[index]
      return auditRecord(this.forms[row[0]]!, text === undefined ? row : [...row, hash('sha256', text)])
    })
  }

  #push(row: string, text: string | undefined): void {
    this.rows.push(row)
    this.texts.push(text)
    this.chars += row.length + (text?.length ?? 0)
  }

  #numberOf(form: AuditForm): number {
    let number = this.#numbers.get(form)
    if (number === undefined) {
      this.#numbers.set(form, number = this.forms.push(form) - 1)
      this.chars += FORM_CHARS
    }
    return number
  }
}

/** A rare event is its own form. */
const FORM_CHARS = 1_000

const rowIn = (values: string): AuditRow => JSON.parse(`[${values}]`) as AuditRow
