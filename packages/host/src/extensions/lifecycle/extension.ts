import {
  BulkheadError, type CompartmentEnd, type CompartmentSession, type CompartmentLimits, type CompartmentUse,
  type ExtensionDescriptor,
  type LifecycleState, type StoredState,
} from '@bulkhead/contract'
import { settlesWithin } from '@bulkhead/kit/deadlines'
import type { Json } from '@bulkhead/kit/json'
import { Admission } from '../admission.ts'
import type { RunningCalls } from '../running-calls.ts'
import type { Arrangement } from '../../model/settings.ts'
import { Leases } from '../../model/waiting.ts'
import { JointPause } from '../../model/deadline.ts'
import { Lifecycle, runPhase } from './lifecycle.ts'
import { compartmentRequest, Restarts, StartAttempt, type ExtensionParts, type Starter } from './start.ts'

/**
 * One loaded extension and, while it is active, its compartment. `Lifecycle` has its state.
 *
 *   validated ─ first call ─▶ initialising ▶ loaded ▶ activating ▶ active ─ stop ─▶ draining ▶ inactive ▶ disposed
 *                                  └───────────┴──────────┴─────────┴─ throws, dies ───┴─────────┴─▶ failed
 *   failed ─ next call ─▶ initialising
 *   validated, failed ─ stop ─▶ disposed
 */
export class Extension {
  readonly #parts: ExtensionParts
  readonly #lifecycle: Lifecycle
  readonly #restarts = new Restarts()
  readonly admission: Admission
  /** Calls that are bound to it, from when they were resolved until they have settled. */
  readonly leases = new Leases()
  /** Joined by the deadlines of the calls that wait for the start. */
  readonly startPause = new JointPause()
  #predecessor: Promise<unknown> | undefined
  /** Set while it starts. */
  #attempt: StartAttempt | undefined
  /** Set once it was asked to stop. It never starts again. */
  #stop: { readonly reason: BulkheadError; result: Promise<BulkheadError | undefined> | undefined } | undefined

  constructor(parts: ExtensionParts) {
    this.#parts = parts
    this.admission = new Admission(parts.descriptor.id, parts.arrangement)
    this.#lifecycle = new Lifecycle(parts.descriptor.id, parts.generation, parts.events)
  }

  get descriptor(): ExtensionDescriptor {
    return this.#parts.descriptor
  }

  get limits(): CompartmentLimits {
    return this.#parts.arrangement.limits
  }

  get state(): LifecycleState {
    return this.#lifecycle.state
  }

  get generation(): number {
    return this.#parts.generation
  }

  /** Whether its code ran, or is about to. */
  get wasStarted(): boolean {
    return this.state !== 'validated' || this.#attempt !== undefined
  }

  /** Why it failed last, until it is active again. */
  get fault(): BulkheadError | undefined {
    return this.#lifecycle.current.fault
  }

  /** Set while it starts. Asking a person pauses the time of the start and of every call that waits for it. */
  get starter(): Starter | undefined {
    const starter = this.#attempt?.starter
    return starter && { raise: (...question) => starter.raise(...question).finally(this.startPause.pause()) }
  }

  get restMs(): number {
    return Math.ceil(this.#restarts.restMs(this.#parts.clock.monotonic()))
  }

  /** How often it started again after its compartment had failed. */
  get restarts(): number {
    return this.#restarts.count
  }

  /** What its compartments use now. Never rejects. */
  async use(): Promise<readonly CompartmentUse[]> {
    return await this.#lifecycle.current.compartment?.use?.() ?? []
  }

  get arrangement(): Arrangement {
    return this.#parts.arrangement
  }

  get running(): RunningCalls {
    return this.#parts.running
  }

  /** Set while calls can be sent without waiting. */
  get compartment(): CompartmentSession | undefined {
    const { compartment } = this.#lifecycle.current
    return this.#stop || compartment?.quiet ? undefined : compartment
  }

  /**
   * A call needs it, if it is allowed. Runs none of its code. Resolves when what takes time has begun, and never rejects;
   * undefined if there is nothing to prepare.
   */
  prepare(): Promise<void> | undefined {
    const { sandbox, arrangement: { placement, limits } } = this.#parts
    return this.wasStarted || placement === 'inline' ? undefined : sandbox.prepare?.({ placement, limits })
  }

  /** Callers share one start and its result. The first of them answers the questions of `init`. */
  start(starter?: Starter): Promise<CompartmentSession> {
    if (this.#stop) return Promise.reject(this.#stop.reason)
    const { compartment } = this.#lifecycle.current
    // A cancelled call that still runs may end its compartment.
    if (compartment?.quiet) return compartment.quiet.then(() => this.start(starter))
    if (compartment) return Promise.resolve(compartment)
    const attempt = this.#attempt ??= new StartAttempt()
    attempt.starter ??= starter
    attempt.result ??= this.#activate(attempt).finally(() => { this.#attempt = undefined })
    return attempt.result
  }

  /** For a request whose compartment ended before it arrived: starts the next one. */
  startAfterEnd(gone: CompartmentSession, starter: Starter): Promise<CompartmentSession> {
    return gone.ended.then(() => this.start(starter))
  }

  /** For an extension of which only one may exist: it starts when the predecessor has ended. */
  startAfter(predecessor: Promise<unknown>): void {
    this.#predecessor = predecessor
  }

  /**
   * Rejects new calls at once, waits up to `drainMs` for running ones, then stops. Resolves with the fault that
   * prevented a clean stop; never rejects. Idempotent.
   */
  stop(reason: BulkheadError, drainMs: number): Promise<BulkheadError | undefined> {
    const stop = this.#stop ??= { reason, result: undefined }
    stop.result ??= this.#shutDown(reason, drainMs).catch((thrown: unknown) => BulkheadError.from(thrown))
    return stop.result
  }

  /** Migrates a stored state in the compartment. Rejects if there is none. */
  async migrateState(stored: StoredState, signal: AbortSignal): Promise<Json> {
    const { compartment } = this.#lifecycle.current
    if (compartment) return compartment.migrateState(stored, signal)
    throw new BulkheadError('CompartmentCrashed', `The compartment of "${this.descriptor.id}" is gone.`)
  }

  async #activate(attempt: StartAttempt): Promise<CompartmentSession> {
    const { clock, arrangement: { limits: { startMs, phaseMs } }, descriptor: { id } } = this.#parts
    this.#restarts.refuseWhileResting(id, clock)
    if (this.#predecessor) await this.#waitFor(this.#predecessor, attempt)
    this.#throwIfOver(attempt)
    for (const dependency of this.#parts.dependencies()) await dependency.start(this.starter)
    this.#throwIfOver(attempt)
    this.#lifecycle.signal('init')
    attempt.begin(clock, startMs + 3 * phaseMs, id)
    const leavePause = this.startPause.join(() => attempt.pause())
    try {
      const compartment = await attempt.within(this.#bringUp(attempt))
      if (attempt.hasEnded) {
        throw new BulkheadError('CompartmentCrashed', `The compartment of "${id}" ended while it was activated.`)
      }
      this.#lifecycle.signal('activated', { compartment })
      this.#restarts.started()
      return compartment
    } catch (thrown) {
      const error = BulkheadError.from(thrown, 'CompartmentStartFailed')
      if (attempt.over) attempt.cancel(error)
      this.#fail(error)
      if (attempt.compartment) this.#discard(attempt.compartment, error)
      throw error
    } finally {
      leavePause()
      attempt.end()
    }
  }

  /** Reads its bytes first: the files may change while it waits. */
  async #waitFor(predecessor: Promise<unknown>, attempt: StartAttempt): Promise<void> {
    const { code } = this.descriptor
    if (code.kind === 'files') await code.readFiles()
    await attempt.waitFor(predecessor)
  }

  async #bringUp(attempt: StartAttempt): Promise<CompartmentSession> {
    const compartment = await this.#open(attempt)
    // A compartment that opens too late would never be closed.
    if (attempt.over) this.#discard(compartment, attempt.over)
    this.#throwIfOver(attempt)
    await runPhase('init', compartment, this.#parts)
    this.#throwIfOver(attempt)
    this.#lifecycle.signal('initialised')
    this.#lifecycle.signal('activate')
    await runPhase('activate', compartment, this.#parts)
    this.#throwIfOver(attempt)
    return compartment
  }

  async #open(attempt: StartAttempt): Promise<CompartmentSession> {
    const { descriptor: { code }, sandbox } = this.#parts
    const signal = attempt.opening()
    const files = code.kind === 'files' ? await code.readFiles() : undefined
    this.#throwIfOver(attempt)
    const compartment = await sandbox.open(compartmentRequest(this.#parts, files, signal))
    attempt.opened(compartment)
    void compartment.ended.then((end) => this.#ended(compartment, end))
    return compartment
  }

  #ended(compartment: CompartmentSession, end: CompartmentEnd): void {
    const { code, message } = end.kind === 'failed' ? end.error : { code: null, message: 'It was closed.' }
    this.#parts.events.emit({ type: 'CompartmentEnded', extensionId: this.descriptor.id, errorCode: code, message })
    if (this.#attempt?.compartment === compartment) this.#attempt.hasEnded = true
    if (!this.#holds(compartment)) return
    // A phase of its stop has failed before.
    if (this.state === 'failed') this.#lifecycle.release()
    else this.#fail(end.kind === 'failed' ? end.error : undefined)
  }

  #fail(fault: BulkheadError | undefined): void {
    this.#lifecycle.signal('fail', { fault })
    // `NoPlaceFree` means that the compartment was never started.
    if (!this.#stop && fault?.code !== 'NoPlaceFree') this.#restarts.died(this.#parts.clock.monotonic())
  }

  #discard(compartment: CompartmentSession, reason: BulkheadError): void {
    compartment.close(reason)
      .catch((thrown: unknown) => this.#parts.events.suppressed(`close of ${this.descriptor.id}`, thrown))
  }

  #throwIfOver(attempt: StartAttempt): void {
    const over = this.#stop?.reason ?? attempt.over
    if (over) throw over
  }

  #holds(compartment: CompartmentSession): boolean {
    return this.#lifecycle.current.compartment === compartment
  }

  async #shutDown(reason: BulkheadError, drainMs: number): Promise<BulkheadError | undefined> {
    const { clock, arrangement } = this.#parts
    const starting = this.#attempt?.result
    if (starting) {
      this.#attempt?.cancel(reason)
      if (!await settlesWithin(clock, drainMs, starting)) {
        // It cannot become active any more. It is disposed of when the attempt ends.
        void starting.catch(() => this.#lifecycle.signal('dispose'))
        return this.#stuck('is still starting')
      }
    }
    const { compartment } = this.#lifecycle.current
    if (!compartment) {
      this.#lifecycle.signal('dispose')
      return undefined
    }
    this.#lifecycle.signal('drain')
    const drained = await settlesWithin(clock, drainMs, this.running.whenIdle())
    const fault = await this.#takeDown(compartment)
    const closed = await settlesWithin(clock, arrangement.limits.phaseMs, compartment.close(reason))
    this.#lifecycle.signal('dispose')
    if (!closed) return this.#stuck('did not close its compartment')
    return drained ? fault : this.#stuck('had calls running that did not end')
  }

  /** Runs `deactivate` and `dispose`. A phase that fails is reported, and the next one runs. */
  async #takeDown(compartment: CompartmentSession): Promise<BulkheadError | undefined> {
    let fault: BulkheadError | undefined
    for (const phase of ['deactivate', 'dispose'] as const) {
      // After the end of the compartment the state is `failed`, and no phase can run.
      if (!this.#holds(compartment)) return fault
      try {
        await runPhase(phase, compartment, this.#parts)
        if (phase === 'deactivate' && this.#holds(compartment)) this.#lifecycle.signal('drained')
      } catch (thrown) {
        fault ??= BulkheadError.from(thrown)
        if (this.#holds(compartment) && this.state !== 'failed') this.#lifecycle.signal('fail')
      }
    }
    this.#lifecycle.release()
    return fault
  }

  #stuck(what: string): BulkheadError {
    const { id } = this.descriptor
    return new BulkheadError('LifecycleTimeout', `The extension "${id}" ${what}.`, { data: { extension: id } })
  }
}
