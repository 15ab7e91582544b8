import { untilAborted } from '@bulkhead/kit/deadlines'
import { LinkedList, type Place } from './linked-list.ts'

interface Lease {
  readonly number: number
  /** Made when a caller waits for it: most leases are released before anyone does. */
  released: PromiseWithResolvers<void> | undefined
}

/** Counts the users of something that will be removed: turns that offer a tool, calls that are bound to it. */
export class Leases {
  readonly #held = new LinkedList<Lease>()
  #count = 0

  /** Returns a function that releases the lease; it is idempotent. */
  acquire(): () => void {
    const lease: Lease = { number: ++this.#count, released: undefined }
    const place = this.#held.add(lease)
    return () => {
      if (this.#held.remove(place)) lease.released?.resolve()
    }
  }

  get size(): number {
    return this.#held.size
  }

  /** A point in time, to tell which leases were acquired after it. */
  get now(): number {
    return this.#count
  }

  /** Resolves when all present leases that were acquired after `since` are released. Does not wait for later ones. */
  async whenReleased(since = 0): Promise<void> {
    const awaited = this.#held.items().filter(({ number }) => number > since)
    await Promise.all(awaited.map((lease) => (lease.released ??= Promise.withResolvers<void>()).promise))
  }

  /** Resolves at a moment when there is no lease. */
  async whenNone(): Promise<void> {
    while (this.#held.size > 0) await this.whenReleased()
  }
}

/** Counts work that is in progress, and waits for its end. */
export class WaitGroup {
  #count = 0
  #none: PromiseWithResolvers<void> | undefined

  get size(): number {
    return this.#count
  }

  add(count: number): void {
    this.#count += count
  }

  /** Contract: no more than was added. */
  done(count: number): void {
    this.#count -= count
    if (this.#count > 0) return
    this.#none?.resolve()
    this.#none = undefined
  }

  /** Resolves when no work is in progress, at once if none is. */
  whenNone(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    this.#none ??= Promise.withResolvers<void>()
    return this.#none.promise
  }
}

/** Runs one task at a time, in the order of arrival. A task that is aborted while it waits never runs. */
export class Mutex {
  #last: Promise<void> = Promise.resolve()

  async run<Value>(signal: AbortSignal, task: () => Promise<Value>): Promise<Value> {
    const { promise: done, resolve: release } = Promise.withResolvers<void>()
    const turn = this.#last
    this.#last = turn.then(() => done)
    try {
      await untilAborted(turn, signal)
      return await untilAborted(task(), signal)
    } finally {
      release()
    }
  }
}

/** The turn of a call on its way to its decision. */
export interface Turn {
  readonly number: number
  readonly place: Place<number>
}

interface Waiting {
  readonly turn: Turn
  readonly resume: () => void
}

/**
 * Calls of one tick are decided in the order in which they were made, however many awaits the evaluation of each needs.
 */
export class TickOrder {
  readonly #turns = new LinkedList<number>()
  #count = 0
  #waiting: Waiting[] = []

  enter(): Turn {
    const number = ++this.#count
    return { number, place: this.#turns.add(number) }
  }

  /**
   * Call it from a microtask. Resolves when every earlier call of this tick had its turn, or waits for something else.
   * The first does not wait.
   */
  wait(turn: Turn): Promise<void> | undefined {
    if (this.#turns.first === turn.number && this.#waiting.length === 0) {
      this.leave(turn)
      return undefined
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    // From a microtask, nextTick runs after the microtask queue is empty.
    if (this.#waiting.push({ turn, resume: resolve }) === 1) process.nextTick(this.#resume)
    return promise
  }

  /** For a call that had its turn, or ended before. Idempotent. */
  leave({ place }: Turn): void {
    this.#turns.remove(place)
  }

  readonly #resume = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { turn, resume } of waiting.toSorted((one, other) => one.turn.number - other.turn.number)) {
      this.leave(turn)
      resume()
    }
  }
}
