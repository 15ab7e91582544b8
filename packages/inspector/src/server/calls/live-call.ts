import type { EventOf, OutcomeOrigin } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import type { CallItem, CallState, DecidedBy, Span, SpanKind } from '../../protocol.ts'
import type { ObservedUse } from '../inspected.ts'
import { inOrder, PHASES } from './spans.ts'

/** Spans of one call. Later ones are counted and not kept. */
const MOST_SPANS = 500
const MOST_CHARS = 2_000

interface OpenSpan {
  readonly kind: SpanKind
  readonly words: string
  readonly from: number
}

/** A call that is refused at once, such as one with a wrong name, only ends. */
type FirstEvent = Pick<
  EventOf<'ToolInvocationProposed'>, 'at' | 'sessionId' | 'callId' | 'tool' | 'origin' | 'principal' | 'parentCallId'
>

/** What happens to one call. Times are in ms, from a clock that never decreases. */
export class LiveCall {
  readonly id: string
  readonly host: string
  readonly at: number
  readonly decided: DecidedBy[] = []
  readonly #proposed: FirstEvent
  readonly #begun: number
  readonly #spans: Span[] = []
  #origin: OutcomeOrigin | null
  #state: CallState = 'queued'
  #open: OpenSpan | undefined
  #subject = ''
  #by: string | undefined
  #code: string | undefined
  #message: string | undefined
  #endedMs: number | undefined
  #waitedMs = 0
  #agent: string | undefined
  #item: CallItem | undefined

  constructor(proposed: FirstEvent, host: string, agent: string | undefined, now: number) {
    this.#proposed = proposed
    this.#origin = proposed.origin
    this.#agent = agent
    this.#begun = now
    this.host = host
    this.at = Date.parse(proposed.at)
    this.id = callIdOf(proposed.sessionId, proposed.callId)
    this.#open = { kind: 'policy', words: PHASES.policy, from: now }
  }

  get extension(): string | undefined {
    return this.#origin?.extension
  }

  get isOver(): boolean {
    return this.#endedMs !== undefined
  }

  get isRunning(): boolean {
    return this.#state === 'running'
  }

  decide({ decision, stage, source, reason, approvalKey, origin }: EventOf<'ToolInvocationDecided'>, now: number): void {
    if (this.decided.length < MOST_SPANS) {
      this.decided.push({ stage: shown(stage), action: decision, source: shown(source), reason: shown(reason) })
    }
    // A use is decided while the call runs.
    if (this.#state === 'running' || this.isOver) return this.#change()
    this.#origin = origin
    this.#subject = approvalKey
    this.#by = `${source}: ${reason}`
    if (decision === 'deny') this.#state = 'denied'
    else {
      this.#state = 'queued'
      this.#next('queue', PHASES.queue, now)
    }
    this.#change()
  }

  /** Waits for a person, or does not any longer. */
  ask(isOpen: boolean, now: number): void {
    if (this.isOver) return
    if (isOpen) {
      this.#next('person', PHASES.person, now)
      this.#state = 'waiting'
    } else if (this.#state === 'waiting') {
      const wasRunning = this.#spans.some(({ kind }) => kind === 'run')
      this.#waitedMs += now - (this.#open?.from ?? now)
      const resumed = wasRunning ? 'run' : 'policy'
      this.#next(resumed, PHASES[resumed], now)
      this.#state = wasRunning ? 'running' : 'queued'
    }
    this.#change()
  }

  /** A compartment for it started, or failed to. */
  compartment(words: string, from: number, now: number, failed: boolean): void {
    const begun = Math.max(from, this.#begun)
    this.#add({ kind: 'start', depth: 1, words, fromMs: this.#offset(begun), ms: ms(now - begun), ...(failed && { failed }) })
    this.#change()
  }

  start(attempt: number, now: number): void {
    if (attempt === 0 || this.isOver) return
    this.#next('run', attempt === 1 ? PHASES.run : `${PHASES.run}, attempt ${attempt}`, now)
    this.#state = 'running'
    this.#change()
  }

  use({ part, subject, ms: took, failed, bytesRead, bytesWritten }: ObservedUse, now: number): void {
    this.#add({
      kind: 'use', depth: 1, words: `${part} ${shown(subject)}`, ms: ms(took),
      fromMs: this.#offset(Math.max(this.#begun, now - took)), capability: part, subject: shown(subject), ...(bytesRead > 0 && { bytesRead }),
      ...(bytesWritten > 0 && { bytesWritten }), ...(failed && { failed }),
    })
    this.#change()
  }

  child(child: LiveCall, now: number): void {
    this.#add({ kind: 'call', depth: 1, words: `calls ${child.item.tool}`, fromMs: this.#offset(now), callId: child.id })
  }

  end(
    event: EventOf<'ToolInvocationSucceeded' | 'ToolInvocationFailed' | 'ToolInvocationCancelled'>, now: number,
  ): void {
    if (this.isOver) return
    if (this.#state === 'waiting') this.ask(false, now)
    const settling = event.phases?.find(({ kind }) => kind === 'settle')
    if (settling) this.#next('settle', PHASES.settle, now - settling.ms)
    this.#close(now)
    this.#endedMs = now - this.#begun
    this.#origin = event.origin ?? this.#origin
    if (event.type === 'ToolInvocationSucceeded') this.#state = 'succeeded'
    else {
      if (this.#state !== 'denied') this.#state = event.type === 'ToolInvocationFailed' ? 'failed' : 'cancelled'
      this.#code = event.errorCode
      this.#message = event.type === 'ToolInvocationFailed' ? event.message : event.reason
    }
    this.#change()
  }

  /** The same object until it changes. */
  get item(): CallItem {
    this.#item ??= this.#makeItem()
    return this.#item
  }

  /** The span that is open has no end. */
  get spans(): readonly Span[] {
    const open = this.#open
    const rest = open === undefined ? []
      : [{ kind: open.kind, depth: 0, words: open.words, fromMs: this.#offset(open.from) }]
    return inOrder([...this.#spans, ...rest])
  }

  #makeItem(): CallItem {
    const { sessionId, callId, tool, principal, parentCallId } = this.#proposed
    return {
      id: this.id, session: shown(sessionId), call: shown(callId), host: this.host, tool: shown(tool),
      origin: originWords(this.#origin),
      ...(principal !== undefined && { principal: shown(principal) }),
      ...(this.#agent !== undefined && { agent: shown(this.#agent) }),
      ...(parentCallId !== undefined && { parent: callIdOf(sessionId, parentCallId) }),
      state: this.#state, at: this.at, subject: shown(this.#subject),
      ...(this.#endedMs !== undefined && { ms: ms(this.#endedMs) }), ...(this.#waitedMs > 0 && { waitedMs: ms(this.#waitedMs) }),
      ...(this.#by !== undefined && { by: shown(this.#by) }), ...(this.#code !== undefined && { code: this.#code }),
      ...(this.#message !== undefined && { message: shown(this.#message) }),
    }
  }

  #next(kind: SpanKind, words: string, now: number): void {
    this.#close(now)
    this.#open = { kind, words, from: now }
  }

  #close(now: number): void {
    const open = this.#open
    if (open === undefined) return
    this.#open = undefined
    this.#add({ kind: open.kind, depth: 0, words: open.words, fromMs: this.#offset(open.from), ms: ms(now - open.from) })
  }

  #add(span: Span): void {
    if (this.#spans.length < MOST_SPANS) this.#spans.push(span)
  }

  #offset(time: number): number {
    return ms(time - this.#begun)
  }

  #change(): void {
    this.#item = undefined
  }
}

const ms = (exact: number): number => Math.max(0, Math.round(exact * 1_000) / 1_000)

/** Text of strangers, bounded. */
export const shown = (text: string): string =>
  visibleText(text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)}…` : text)

export const originWords = (origin: OutcomeOrigin | null): string | null =>
  origin && shown(`${origin.layer} ${origin.extension} ${origin.version}`)

export const callIdOf = (session: string, call: string): string =>
  `${encodeURIComponent(session.toWellFormed())}/${encodeURIComponent(call.toWellFormed())}`
