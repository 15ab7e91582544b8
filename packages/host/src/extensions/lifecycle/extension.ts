import {
  BulkheadError, type CompartmentEnd, type CompartmentSession, type CompartmentLimits, type ExtensionDescriptor, type LifecycleState, type StoredState,
} from '@bulkhead/contract'
import { settlesWithin } from '@bulkhead/kit/deadlines'
import type { Json } from '@bulkhead/kit/json'
import type { RunningCalls } from '../running-calls.ts'
import type { Arrangement } from '../../model/placement.ts'
import { Leases } from '../../model/leases.ts'
import { JointPause } from '../../model/deadline.ts'
import { compartmentRequest } from './compartment-request.ts'
import type { ExtensionParts, Starter } from './extension-parts.ts'
import { Lifecycle } from './lifecycle.ts'
import { runPhase } from './phases.ts'
import { Restarts } from './restarts.ts'
import { StartAttempt } from './start-attempt.ts'

/**
 * One loaded extension and, while it is active, its compartment.
 *
 *   validated ─ first call ─▶ initialising ▶ loaded ▶ activating ▶ active ─ stop ─▶ draining ▶ inactive ▶ disposed
 *                                   └───────────┴──────────┴──────────┴─ throws, dies ─▶ failed ─ next call ─▶ initialising
 */
export class Extension {
  readonly #parts: ExtensionParts
  readonly #lifecycle: Lifecycle
  readonly #restarts = new Restarts()
  readonly #dead = new WeakSet<CompartmentSession>()
  /** Calls that are bound to it, from when they were resolved until they have settled. */
  readonly leases = new Leases()
  /** Joined by the time of what waits for the start. */
  readonly startPause = new JointPause()
  #compartment: CompartmentSession | undefined
  #starting: Promise<CompartmentSession> | undefined
  #starter: Starter | undefined
  #fault: BulkheadError | undefined
  #predecessor: Promise<unknown> | undefined
  #opening: AbortController | undefined
  /** For who waits for another to end: nothing of it has begun. */
  readonly #stopAsked = Promise.withResolvers<void>()
  #stopReason: BulkheadError | undefined
  #stopping: Promise<BulkheadError | undefined> | undefined

  constructor(parts: ExtensionParts) {
    this.#parts = parts
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

  /** Whether any code of it ran, or is about to. */
  get wasStarted(): boolean {
    return this.state !== 'validated' || this.#starting !== undefined
  }

  /** Why it failed last; gone when it is active again. */
  get fault(): BulkheadError | undefined {
    return this.#fault
  }

  /** Set while it starts. The time of the start, and of every call that waits for it, stands still while a person is asked. */
  get starter(): Starter | undefined {
    const starter = this.#starter
    return starter && { raise: (...question) => starter.raise(...question).finally(this.startPause.pause()) }
  }

  get restMs(): number {
    return Math.ceil(this.#restarts.restMs(this.#parts.clock.monotonic()))
  }

  get arrangement(): Arrangement {
    return this.#parts.arrangement
  }

  get running(): RunningCalls {
    return this.#parts.running
  }

  /** Set while calls may go there without waiting. */
  get compartment(): CompartmentSession | undefined {
    return this.#stopReason || this.#compartment?.quiet ? undefined : this.#compartment
  }

  /** Callers that come while it starts share the one start and its outcome; the first of them is asked what `init` asks. */
  start(starter?: Starter): Promise<CompartmentSession> {
    if (this.#stopReason) return Promise.reject(this.#stopReason)
    // A cancelled call that goes on may be about to take its compartment down.
    if (this.#compartment?.quiet) return this.#compartment.quiet.then(() => this.start(starter))
    if (this.#compartment) return Promise.resolve(this.#compartment)
    this.#starter ??= starter
    this.#starting ??= this.#activate().finally(() => {
      this.#starting = undefined
      this.#starter = undefined
    })
    return this.#starting
  }

  /** For what was asked of a compartment that ended before: it goes to the next one, which starts as any other does. */
  startAfterEnd(gone: CompartmentSession, starter: Starter): Promise<CompartmentSession> {
    return gone.ended.then(() => this.start(starter))
  }

  /** Of which only one may be there at a time: it starts when the one before has ended. */
  startAfter(predecessor: Promise<unknown>): void {
    this.#predecessor = predecessor
  }

  /**
   * Refuses new calls at once, lets running ones end within `drainMs`, then takes it down. Resolves with what kept it
   * from stopping cleanly; never rejects. Idempotent.
   */
  stop(reason: BulkheadError, drainMs: number): Promise<BulkheadError | undefined> {
    this.#stopReason ??= reason
    this.#stopAsked.resolve()
    this.#stopping ??= this.#stop(reason, drainMs).catch((thrown: unknown) => BulkheadError.from(thrown))
    return this.#stopping
  }

  /** What the running code makes of a stored state. Rejects when it does not run. */
  async migrateState(stored: StoredState, signal: AbortSignal): Promise<Json> {
    if (this.#compartment) return this.#compartment.migrateState(stored, signal)
    throw new BulkheadError('CompartmentCrashed', `The compartment of "${this.descriptor.id}" is gone.`)
  }

  async #activate(): Promise<CompartmentSession> {
    this.#restarts.refuseWhileResting(this.descriptor.id, this.#parts.clock)
    if (this.#predecessor) await this.#waitFor(this.#predecessor)
    this.#goOn()
    for (const dependency of this.#parts.dependencies()) await dependency.start(this.starter)
    this.#goOn()
    this.#lifecycle.signal('init')
    const { clock, arrangement: { limits: { startMs, phaseMs } } } = this.#parts
    const attempt = new StartAttempt(clock, startMs + 3 * phaseMs, this.descriptor.id)
    const leavePause = this.startPause.join(() => attempt.pause())
    try {
      const compartment = await attempt.within(this.#bringUp(attempt))
      if (this.#dead.has(compartment)) {
        throw new BulkheadError('CompartmentCrashed', `The compartment of "${this.descriptor.id}" ended while it was activated.`)
      }
      this.#lifecycle.signal('activated')
      this.#compartment = compartment
      this.#fault = undefined
      return compartment
    } catch (thrown) {
      const error = BulkheadError.from(thrown, 'CompartmentStartFailed')
      if (attempt.over) this.#opening?.abort(error)
      this.#fail(error)
      if (attempt.compartment) this.#discard(attempt.compartment, error)
      throw error
    } finally {
      leavePause()
      attempt.end()
    }
  }

  /** Its bytes are read before: by then others may be where they were. */
  async #waitFor(predecessor: Promise<unknown>): Promise<void> {
    const { code } = this.descriptor
    if (code.kind === 'files') await code.readFiles()
    await Promise.race([predecessor, this.#stopAsked.promise])
  }

  async #bringUp(attempt: StartAttempt): Promise<CompartmentSession> {
    const goOn = () => this.#goOn(attempt)
    const compartment = await this.#open()
    // A compartment that opens too late would never be closed.
    if (attempt.over) this.#discard(compartment, attempt.over)
    attempt.compartment = compartment
    goOn()
    await runPhase('init', compartment, this.#parts)
    goOn()
    this.#lifecycle.signal('initialised')
    this.#lifecycle.signal('activate')
    await runPhase('activate', compartment, this.#parts)
    goOn()
    return compartment
  }

  async #open(): Promise<CompartmentSession> {
    const { descriptor: { code }, sandbox } = this.#parts
    this.#opening = new AbortController()
    const files = code.kind === 'files' ? await code.readFiles() : undefined
    this.#goOn()
    const compartment = await sandbox.open(compartmentRequest(this.#parts, files, this.#opening.signal))
    this.#opening = undefined
    void compartment.ended.then((end) => this.#ended(compartment, end))
    return compartment
  }

  #ended(compartment: CompartmentSession, end: CompartmentEnd): void {
    this.#dead.add(compartment)
    const { code, message } = end.kind === 'failed' ? end.error : { code: null, message: 'It was closed.' }
    this.#parts.events.emit({ type: 'CompartmentEnded', extensionId: this.descriptor.id, errorCode: code, message })
    if (this.#compartment !== compartment) return
    this.#compartment = undefined
    this.#fail(end.kind === 'failed' ? end.error : undefined)
  }

  #fail(error: BulkheadError | undefined): void {
    this.#fault = error
    this.#lifecycle.signal('fail')
    // Who found no place has not died.
    if (!this.#stopReason && error?.code !== 'NoPlaceFree') this.#restarts.died(this.#parts.clock.monotonic())
  }

  #discard(compartment: CompartmentSession, reason: BulkheadError): void {
    compartment.close(reason).catch((thrown: unknown) => this.#parts.events.suppressed(`close of ${this.descriptor.id}`, thrown))
  }

  #goOn(attempt?: StartAttempt): void {
    const over = this.#stopReason ?? attempt?.over
    if (over) throw over
  }

  async #stop(reason: BulkheadError, drainMs: number): Promise<BulkheadError | undefined> {
    const { clock, arrangement } = this.#parts
    if (this.#starting) {
      this.#opening?.abort(reason)
      const starting = this.#starting
      if (!await settlesWithin(clock, drainMs, starting)) {
        // It cannot come to life any more; what it ends in is tidied whenever that is.
        void starting.catch(() => this.#lifecycle.signal('dispose'))
        return this.#stuck('is still starting')
      }
    }
    const compartment = this.#compartment
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

  /** Its own farewell, both parts of it: a failing phase is reported and does not keep it alive. */
  async #takeDown(compartment: CompartmentSession): Promise<BulkheadError | undefined> {
    // One that has died meanwhile has moved the state already, and has nothing to say.
    const isThere = () => this.#compartment === compartment
    let fault: BulkheadError | undefined
    for (const phase of ['deactivate', 'dispose'] as const) {
      if (!isThere()) return fault
      try {
        await runPhase(phase, compartment, this.#parts)
        if (phase === 'deactivate' && isThere()) this.#lifecycle.signal('drained')
      } catch (thrown) {
        fault ??= BulkheadError.from(thrown)
        if (isThere() && this.state !== 'failed') this.#lifecycle.signal('fail')
      }
    }
    if (isThere()) this.#compartment = undefined
    return fault
  }

  #stuck(what: string): BulkheadError {
    const { id } = this.descriptor
    return new BulkheadError('LifecycleTimeout', `The extension "${id}" ${what}.`, { data: { extension: id } })
  }
}
