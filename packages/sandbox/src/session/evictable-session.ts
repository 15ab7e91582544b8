import {
  BulkheadError, LONGEST_TIMER_MS, type CompartmentEnd, type CompartmentRequest, type CompartmentSession,
  type CompartmentUse, type LifecyclePhase, type Placement, type StoredState, type ToolInvocation,
} from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { messageOf } from '@bulkhead/kit/error-message'
import { closedEarly, compartmentGone } from './errors.ts'
import { abortable, PhaseReplay, Residency, type SessionOpener, type ResidencyState } from './residency.ts'

/**
 * A session whose compartment is closed when it has been idle for a while, or when another one needs its place. The
 * next call opens it again. `RESIDENCY` is its state machine.
 */
export class EvictableSession implements CompartmentSession {
  readonly id: string
  readonly placement: Placement
  readonly offers: CompartmentSession['offers']
  readonly ended: Promise<CompartmentEnd>
  readonly #request: CompartmentRequest
  readonly #open: SessionOpener
  /** Infinity: it is closed only when another one needs its place. */
  readonly #idleMs: number
  readonly #residency: Residency
  readonly #phases = new PhaseReplay()
  readonly #end = Promise.withResolvers<CompartmentEnd>()
  readonly #over = new AbortController()
  /** Answers every request after the end. */
  #refusal: BulkheadError | undefined
  /** Set while idle or busy. */
  #session: CompartmentSession | undefined
  /** The last one, unless it was evicted: a session that ended on its own may take a while to be gone. */
  #last: CompartmentSession | undefined
  #cooling: Promise<void> | undefined
  #warming: Promise<CompartmentSession> | undefined
  /** Calls that wait for the compartment to open. */
  #waiting = 0
  #timer: NodeJS.Timeout | undefined

  static async open(request: CompartmentRequest, open: SessionOpener, idleMs: number): Promise<EvictableSession> {
    const residency = new Residency()
    residency.on('open')
    return new EvictableSession(request, open, idleMs, residency, await open(request, residency))
  }

  private constructor(
    request: CompartmentRequest, open: SessionOpener, idleMs: number, residency: Residency, session: CompartmentSession,
  ) {
    this.id = session.id
    this.placement = session.placement
    this.offers = session.offers
    this.ended = this.#end.promise
    this.#request = request
    this.#open = open
    this.#idleMs = idleMs
    this.#residency = residency
    this.#adopt(session)
  }

  get inFlight(): number {
    return this.#waiting + (this.#session?.inFlight ?? 0)
  }

  get quiet(): Promise<void> | undefined {
    return this.#session?.quiet
  }

  async use(): Promise<readonly CompartmentUse[]> {
    return await this.#session?.use?.() ?? []
  }

  get state(): ResidencyState {
    return this.#residency.state
  }

  /** For how many ms it has been idle; 0 in any other state. */
  get idleMs(): number {
    return this.#residency.idleMs
  }

  /** Closes the compartment. Contract: it is idle. */
  evict(): void {
    const session = this.#session!
    this.#residency.on('evict')
    this.#session = undefined
    this.#last = undefined
    this.#cooling = this.#phases.undo(session, (phase, error) => {
      const text = `The phase ${phase} failed before a pause: ${messageOf(error)}`
      this.#request.services.log({ level: 'warn', text, callId: undefined })
    }).then(() => session.close()).finally(() => {
      this.#cooling = undefined
      if (this.state === 'cooling') this.#residency.on('evicted')
    })
  }

  async lifecycle(phase: LifecyclePhase): Promise<void> {
    const endsIt = phase === 'deactivate' || phase === 'dispose'
    if (endsIt && (this.state === 'cold' || this.state === 'cooling') && this.#warming === undefined) {
      // Eviction has run these phases already.
      await this.#cooling
    } else {
      this.#over.signal.throwIfAborted()
      await this.#use(undefined, (session) => session.lifecycle(phase))
    }
    this.#phases.ran(phase)
  }

  call(invocation: ToolInvocation): Promise<Json> {
    // An open compartment counts its requests itself.
    return this.#session?.call(invocation) ?? this.#use(invocation, (session) => session.call(invocation))
  }

  deriveApprovalKey(tool: string, args: JsonObject, signal: AbortSignal): Promise<string> {
    return this.#use({ signal }, (session) => session.deriveApprovalKey(tool, args, signal))
  }

  migrateState(stored: StoredState, signal: AbortSignal): Promise<Json> {
    return this.#use({ signal }, (session) => session.migrateState(stored, signal))
  }

  async close(reason?: BulkheadError): Promise<void> {
    this.#finish({ kind: 'closed' }, reason ?? closedEarly())
    await Promise.all([this.#last?.close(reason), this.#cooling, this.#warming?.catch(() => undefined)])
  }

  /** The signal is read only where the compartment has to be opened. */
  async #use<T>(
    source: Pick<ToolInvocation, 'signal'> | undefined, send: (session: CompartmentSession) => Promise<T>,
  ): Promise<T> {
    this.#residency.begin()
    try {
      return await send(this.#session ?? await this.#opened(source?.signal))
    } finally {
      this.#residency.end()
    }
  }

  async #opened(signal: AbortSignal | undefined): Promise<CompartmentSession> {
    if (this.#refusal) throw this.#refusal
    this.#waiting++
    try {
      return await abortable(() => {
        this.#warming ??= this.#warm().finally(() => {
          this.#warming = undefined
        })
        return this.#warming
      }, signal)
    } finally {
      this.#waiting--
    }
  }

  /** A failure ends the session: its owner decides whether to try again. */
  async #warm(): Promise<CompartmentSession> {
    await this.#cooling
    let session: CompartmentSession | undefined
    try {
      this.#over.signal.throwIfAborted()
      this.#residency.on('open')
      session = await this.#open({ ...this.#request, signal: this.#over.signal }, this.#residency)
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

  #adopt(session: CompartmentSession): void {
    this.#session = session
    this.#last = session
    this.#residency.on('opened')
    this.#checkIn(this.#idleMs)
    void session.ended.then((end) => {
      if (this.#session !== session) return
      const closed = new BulkheadError('CompartmentKilled', 'The compartment was closed.')
      this.#finish(end, end.kind === 'failed' ? end.error : closed)
    })
  }

  /** One timer that checks now and then, instead of one for each call. */
  #checkIn(ms: number): void {
    clearTimeout(this.#timer)
    if (ms < Infinity) this.#timer = setTimeout(() => this.#check(), Math.min(ms, LONGEST_TIMER_MS)).unref()
  }

  #check(): void {
    if (this.state === 'busy') return this.#checkIn(this.#idleMs)
    if (this.state !== 'idle') return
    const left = this.#idleMs - this.idleMs
    if (left > 0) this.#checkIn(left)
    else this.evict()
  }

  #finish(end: CompartmentEnd, reason: BulkheadError): void {
    if (this.#over.signal.aborted) return
    this.#residency.on('end')
    this.#session = undefined
    clearTimeout(this.#timer)
    this.#refusal = end.kind === 'failed' ? compartmentGone(this.#request.extension.id, reason) : reason
    this.#over.abort(reason)
    this.#end.resolve(end)
  }
}
