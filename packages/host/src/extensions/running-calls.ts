import { LinkedList, type Place } from '../model/linked-list.ts'

/** One attempt of a call, as its extension counts it. */
export interface Running {
  /** The id its compartment knows it by. */
  readonly callId: string
  /** Its place among the running calls. */
  place?: Place<Running> | undefined
}

/** As many calls are found sooner in a list. With a Map for all of them, 64 calls abreast take 6 % longer. */
const FEW = 64

/** The calls one extension runs, by the id its compartment knows them by, the oldest first. */
export class RunningCalls<Call extends Running = Running> {
  readonly #calls = new LinkedList<Running>()
  /** The same by id, from when many run until none does. */
  #byId: Map<string, Running> | undefined
  #idle: PromiseWithResolvers<void> | undefined
  #repeats = 0

  /**
   * Returns the id to run under: the model's own if it is free. Two sessions may use one id at once, and a second
   * attempt must not be mistaken for a first one that has not ended yet.
   */
  enter(running: Call, { id: wanted, attempt }: { readonly id: string; readonly attempt: number }): string {
    let id = attempt === 1 ? wanted : this.#anotherId(wanted)
    while (this.get(id)) id = this.#anotherId(wanted)
    if (this.#calls.size === FEW) this.#byId ??= new Map(this.#calls.items().map((one) => [one.callId, one]))
    this.#byId?.set(id, running)
    running.place = this.#calls.add(running)
    return id
  }

  /** Idempotent. */
  leave(running: Call): void {
    if (running.place === undefined || !this.#calls.remove(running.place)) return
    this.#byId?.delete(running.callId)
    if (this.#calls.size > 0) return
    this.#byId = undefined
    this.#idle?.resolve()
    this.#idle = undefined
  }

  get(id: string): Call | undefined {
    return (this.#byId ? this.#byId.get(id) : this.#calls.find(({ callId }) => callId === id)) as Call | undefined
  }

  /** The oldest: a compartment that started for it may ask its person. */
  any(): Call | undefined {
    return this.#calls.first as Call | undefined
  }

  all(): readonly Call[] {
    return this.#calls.items() as unknown as readonly Call[]
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
