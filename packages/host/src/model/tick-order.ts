import { LinkedList, type Place } from './linked-list.ts'

/** A call on its way to its decision. */
export interface Ordered {
  readonly number: number
  place?: Place<Ordered> | undefined
}

interface Waiting {
  readonly call: Ordered
  readonly resume: () => void
}

/**
 * Calls of one tick are decided in the order in which they were made, however many awaits the evaluation of each needs.
 */
export class TickOrder {
  readonly #calls = new LinkedList<Ordered>()
  #waiting: Waiting[] = []

  /** Contract: numbers rise. */
  enter(call: Ordered): void {
    call.place = this.#calls.add(call)
  }

  /**
   * Call it from a microtask. Resolves when every earlier call of this tick had its turn, or waits for something else.
   * The first does not wait.
   */
  turn(call: Ordered): Promise<void> | undefined {
    if (this.#calls.first === call && this.#waiting.length === 0) {
      this.leave(call)
      return undefined
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    // From a microtask, nextTick runs after the microtask queue is empty.
    if (this.#waiting.push({ call, resume: resolve }) === 1) process.nextTick(this.#resume)
    return promise
  }

  /** For a call that had its turn, or ended before. Idempotent. */
  leave(call: Ordered): void {
    if (call.place) this.#calls.remove(call.place)
  }

  readonly #resume = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { call, resume } of waiting.toSorted((one, other) => one.call.number - other.call.number)) {
      this.leave(call)
      resume()
    }
  }
}
