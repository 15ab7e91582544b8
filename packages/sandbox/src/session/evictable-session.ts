import type {
  CompartmentEnd, CompartmentRequest, CompartmentSession, LifecyclePhase, Placement, StoredState, ToolInvocation,
} from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { BulkheadError, LONGEST_TIMER_MS } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { closedEarly } from './closed-early.ts'
import { compartmentGone } from './compartment-gone.ts'
import type { RestingSession } from './resting-session.ts'
import { abortable } from './abortable.ts'
import { PhasesRun } from './phases-run.ts'

export type OpenSession = (request: CompartmentRequest) => Promise<RestingSession>

/**
 * A session whose compartment is given back when nobody has called it for a while, or when another one needs its place, and
 * opened anew by the next call.
 *
 *   awake ─ idle ─▶ falling asleep ▶ asleep ─ call ─▶ waking ▶ awake
 *     └───────────── closed, dies, cannot be woken ─────┴──▶ ended
 */
export class SleepySession implements CompartmentSession {
  readonly id: string
  readonly placement: Placement
  readonly offers: CompartmentSession['offers']
  readonly ended: Promise<CompartmentEnd>
  readonly #request: CompartmentRequest
  readonly #open: OpenSession
  /** Infinity: it is given back for another one only. */
  readonly #idleMs: number
  readonly #phases = new PhasesRun()
  readonly #end = Promise.withResolvers<CompartmentEnd>()
  readonly #over = new AbortController()
  /** Answers every request after its end. */
  #refusal: BulkheadError | undefined
  /** Set while it is awake. */
  #session: RestingSession | undefined
  /** The last that was awake, unless it was given back: of one that has ended by itself something may be left for a while. */
  #last: CompartmentSession | undefined
  #falling: Promise<void> | undefined
  #waking: Promise<RestingSession> | undefined
  /** What is being answered, or waits until it is awake; of calls only those that wait. */
  #busy = 0
  #waiting = 0
  #restedAt = 0
  #timer: NodeJS.Timeout | undefined

  static async open(request: CompartmentRequest, open: OpenSession, idleMs: number): Promise<SleepySession> {
    return new SleepySession(request, open, idleMs, await open(request))
  }

  private constructor(request: CompartmentRequest, open: OpenSession, idleMs: number, session: RestingSession) {
    this.id = session.id
    this.placement = session.placement
    this.offers = session.offers
    this.ended = this.#end.promise
    this.#request = request
    this.#open = open
    this.#idleMs = idleMs
    this.#adopt(session)
    this.#rest()
  }

  get inFlight(): number {
    return this.#waiting + (this.#session?.inFlight ?? 0)
  }

  get quiet(): Promise<void> | undefined {
    return this.#session?.quiet
  }

  /** For how many ms nobody has wanted anything of it; 0 while somebody does, and of one that has no place. */
  get unusedMs(): number {
    const session = this.#session
    return session === undefined || this.#isUsed(session) ? 0 : performance.now() - this.#quietSince(session)
  }

  get isFallingAsleep(): boolean {
    return this.#falling !== undefined
  }

  /** Contract: of one that is unused. */
  giveBack(): void {
    if (this.#session !== undefined) this.#fallAsleep(this.#session)
  }

  async lifecycle(phase: LifecyclePhase): Promise<void> {
    const endsIt = phase === 'deactivate' || phase === 'dispose'
    if (endsIt && this.#session === undefined && this.#waking === undefined && !this.#over.signal.aborted) {
      // What is asleep has been taken down already.
      await this.#falling
    } else {
      this.#over.signal.throwIfAborted()
      await this.#use(undefined, (session) => session.lifecycle(phase))
    }
    this.#phases.ran(phase)
  }

  call(invocation: ToolInvocation): Promise<Json> {
    // Of a call that need not wait nothing is noted here: its session knows of it.
    return this.#session?.call(invocation) ?? this.#use(invocation, (awake) => awake.call(invocation))
  }

  deriveApprovalKey(tool: string, args: JsonObject, signal: AbortSignal): Promise<string> {
    return this.#use({ signal }, (session) => session.deriveApprovalKey(tool, args, signal))
  }

  migrateState(stored: StoredState, signal: AbortSignal): Promise<Json> {
    return this.#use({ signal }, (session) => session.migrateState(stored, signal))
  }

  async close(reason?: BulkheadError): Promise<void> {
    const why = reason ?? closedEarly()
    this.#finish({ kind: 'closed' }, why)
    await Promise.all([this.#last?.close(reason), this.#falling, this.#waking?.catch(() => undefined)])
  }

  /** The signal is read only where it has to be woken. */
  async #use<T>(asker: Pick<ToolInvocation, 'signal'> | undefined, ask: (session: RestingSession) => Promise<T>): Promise<T> {
    this.#busy++
    try {
      return await ask(this.#session ?? await this.#awake(asker?.signal))
    } finally {
      if (--this.#busy === 0) this.#rest()
    }
  }

  async #awake(signal: AbortSignal | undefined): Promise<RestingSession> {
    if (this.#refusal) throw this.#refusal
    this.#waiting++
    try {
      return await abortable(() => {
        this.#waking ??= this.#wake().finally(() => {
          this.#waking = undefined
        })
        return this.#waking
      }, signal)
    } finally {
      this.#waiting--
    }
  }

  /** One that cannot be brought up again is at its end: whoever owns it decides about another try. */
  async #wake(): Promise<RestingSession> {
    await this.#falling
    let session: RestingSession | undefined
    try {
      this.#over.signal.throwIfAborted()
      session = await this.#open({ ...this.#request, signal: this.#over.signal })
      await this.#phases.replay(session)
      this.#over.signal.throwIfAborted()
    } catch (thrown) {
      const error = BulkheadError.from(thrown, 'CompartmentStartFailed')
      this.#finish({ kind: 'failed', error }, error)
      await session?.close(error)
      throw this.#over.signal.reason
    }
    this.#adopt(session)
    return session
  }

  #adopt(session: RestingSession): void {
    this.#session = session
    this.#last = session
    void session.ended.then((end) => {
      if (this.#session !== session) return
      this.#finish(end, end.kind === 'failed' ? end.error : new BulkheadError('CompartmentKilled', 'The compartment was closed.'))
    })
  }

  #rest(): void {
    this.#restedAt = performance.now()
    if (this.#timer === undefined) this.#lookIn(this.#idleMs)
  }

  /** A look now and then, and not a clock for each call. */
  #lookIn(ms: number): void {
    if (ms < Infinity) this.#timer = setTimeout(() => this.#look(), Math.min(ms, LONGEST_TIMER_MS)).unref()
  }

  #look(): void {
    this.#timer = undefined
    const session = this.#session
    if (session === undefined) return
    if (this.#isUsed(session)) return this.#lookIn(this.#idleMs)
    const left = this.#quietSince(session) + this.#idleMs - performance.now()
    if (left > 0) this.#lookIn(left)
    else this.#fallAsleep(session)
  }

  /** A call whose caller has given up may still be at work. */
  #isUsed({ inFlight }: RestingSession): boolean {
    return this.#busy > 0 || inFlight > 0
  }

  #quietSince({ quietSince }: RestingSession): number {
    return Math.max(this.#restedAt, quietSince)
  }

  #fallAsleep(session: CompartmentSession): void {
    this.#session = undefined
    this.#last = undefined
    this.#falling = this.#phases.undo(session, (phase, error) => {
      const text = `The phase ${phase} failed before a pause: ${messageOf(error)}`
      this.#request.services.log({ level: 'warn', text, callId: undefined })
    }).then(() => session.close()).finally(() => {
      this.#falling = undefined
    })
  }

  #finish(end: CompartmentEnd, reason: BulkheadError): void {
    if (this.#over.signal.aborted) return
    this.#session = undefined
    clearTimeout(this.#timer)
    this.#refusal = end.kind === 'failed' ? compartmentGone(this.#request.extension.id, reason) : reason
    this.#over.abort(reason)
    this.#end.resolve(end)
  }
}
