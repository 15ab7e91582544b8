import {
  BulkheadError, type CompartmentRequest, type CompartmentSession, type LifecyclePhase,
} from '@bulkhead/contract'

/**
 * Whether the compartment of a session is there. cold: it has no hull. warming: it is opened and its phases run. idle:
 * it is open and has no request. busy: it has requests. cooling: its phases are undone and it is closed. gone: the
 * session has ended.
 */
export type ResidencyState = 'cold' | 'warming' | 'idle' | 'busy' | 'cooling' | 'gone'
export type ResidencyEvent = 'open' | 'opened' | 'used' | 'unused' | 'evict' | 'evicted' | 'end'

/** The whole state machine. An absent cell is a transition that cannot happen. */
export const RESIDENCY = {
  cold: { open: 'warming', end: 'gone' },
  warming: { opened: 'idle', end: 'gone' },
  idle: { used: 'busy', evict: 'cooling', end: 'gone' },
  busy: { unused: 'idle', end: 'gone' },
  cooling: { evicted: 'cold', end: 'gone' },
  gone: {},
} as const satisfies Record<ResidencyState, Partial<Record<ResidencyEvent, ResidencyState>>>

/** The residency of one session. It alone changes the state; the session reports what happens. */
export class Residency {
  #state: ResidencyState = 'cold'
  /** Requests that are open, or wait until the compartment is. */
  #uses = 0
  #idleSince = 0

  get state(): ResidencyState {
    return this.#state
  }

  /** For how many ms the compartment has been idle; 0 in any other state. */
  get idleMs(): number {
    return this.#state === 'idle' ? performance.now() - this.#idleSince : 0
  }

  /** Contract: throws for an event that cannot happen in this state. */
  on(event: Exclude<ResidencyEvent, 'used' | 'unused'>): void {
    this.#move(event)
    if (event !== 'opened') return
    this.#idleSince = performance.now()
    if (this.#uses > 0) this.#move('used')
  }

  /** A request begins. */
  begin(): void {
    if (++this.#uses === 1 && this.#state === 'idle') this.#move('used')
  }

  /** A request has ended. Called once for each `begin`. */
  end(): void {
    if (--this.#uses > 0 || this.#state !== 'busy') return
    this.#idleSince = performance.now()
    this.#move('unused')
  }

  #move(event: ResidencyEvent): void {
    const { [event]: next }: Partial<Record<ResidencyEvent, ResidencyState>> = RESIDENCY[this.#state]
    if (next === undefined) throw new Error(`A compartment that is ${this.#state} cannot take the event ${event}.`)
    this.#state = next
  }
}

/** Opens a compartment. Its session reports each request to the residency. */
export type SessionOpener = (request: CompartmentRequest, residency: Residency) => Promise<CompartmentSession>

/** The phases that brought an extension up: undone before its compartment is closed, and repeated in the next one. */
export class PhaseReplay {
  readonly #up = new Set<'init' | 'activate'>()

  /** Called when a phase has succeeded. */
  ran(phase: LifecyclePhase): void {
    switch (phase) {
      case 'init':
      case 'activate':
        this.#up.add(phase)
        return
      case 'deactivate':
        this.#up.delete('activate')
        return
      case 'dispose':
        this.#up.clear()
    }
  }

  /** Rejects with the first failure. */
  async replay(session: CompartmentSession): Promise<void> {
    if (this.#up.has('init')) await session.lifecycle('init')
    if (this.#up.has('activate')) await session.lifecycle('activate')
  }

  /** Goes on after a failure. Contract: `failed` must not throw; never rejects. */
  async undo(session: CompartmentSession, failed: (phase: LifecyclePhase, error: unknown) => void): Promise<void> {
    const run = (phase: LifecyclePhase): Promise<void> =>
      session.lifecycle(phase).catch((error: unknown) => failed(phase, error))
    if (this.#up.has('activate')) await run('deactivate')
    if (this.#up.has('init')) await run('dispose')
  }
}

/** Rejects when the signal aborts; the work goes on for other callers. It is not started after an abort. */
export function abortable<T>(begin: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return begin()
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(BulkheadError.from(signal.reason, 'ToolCancelled'))
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    begin().finally(() => signal.removeEventListener('abort', abort)).then(resolve, reject)
  })
}
