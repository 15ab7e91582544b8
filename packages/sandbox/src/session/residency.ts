/**
 * Whether the compartment of a session is there. cold: it has no hull. warming: it is opened and its phases run. idle: it is open
 * and has no request. busy: it has requests. cooling: its phases are undone and it is closed. gone: the session has ended.
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
    const cells: Partial<Record<ResidencyEvent, ResidencyState>> = RESIDENCY[this.#state]
    const next = Object.hasOwn(cells, event) ? cells[event] : undefined
    if (next === undefined) throw new Error(`A compartment that is ${this.#state} cannot take the event ${event}.`)
    this.#state = next
  }
}
