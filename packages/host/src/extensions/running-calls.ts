import { LinkedList, type Place } from '../model/linked-list.ts'

/** One attempt of a call, as its extension counts it. */
export interface Running {
  /** The id its compartment knows it by. */
  readonly callId: string
  /** Its place among the running calls. */
  place?: Place<Running> | undefined
}

/** The calls one extension runs, by the id its compartment knows them by, the oldest first. */
export class RunningCalls<Call extends Running = Running> {
  readonly #calls = new LinkedList<Running>()
  #idle: PromiseWithResolvers<void> | undefined
  #repeats = 0

  /**
   * Returns the id to run under: the model's own if it is free. Two sessions may use one id at once, and a second
   * attempt must not be mistaken for a first one that has not ended yet.
   */
  enter(running: Call, { id: wanted, attempt }: { readonly id: string; readonly attempt: number }): string {
    let id = attempt === 1 ? wanted : this.#anotherId(wanted)
    while (this.get(id)) id = this.#anotherId(wanted)
    running.place = this.#calls.add(running)
    return id
  }

  /** Idempotent. */
  leave(running: Call): void {
    if (running.place === undefined || !this.#calls.remove(running.place)) return
    if (this.#calls.size > 0) return
    this.#idle?.resolve()
    this.#idle = undefined
  }

  get(id: string): Call | undefined {
    return this.#calls.find(({ callId }) => callId === id) as Call | undefined
  }

  /** The oldest: a compartment that started for it may ask its person. */
  any(): Call | undefined {
    return this.#calls.first as Call | undefined
  }

  get size(): number {
    return this.#calls.size
  }

  /** Resolves when no call runs, at once if none does. */
  whenIdle(): Promise<void> {
    if (this.#calls.size === 0) return Promise.resolve()
    this.#idle ??= Promise.withResolvers<void>()
    return this.#idle.promise
  }

  /** Never longer than an id may be. */
  #anotherId(wanted: string): string {
    return `${wanted.slice(0, 100)}#${++this.#repeats}`
  }
}
