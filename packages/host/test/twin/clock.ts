import type { Clock } from '@bulkhead/contract'

interface Timer {
  readonly at: number
  readonly run: () => void
}

/** Runs all microtasks, and what they queue. */
export const flush = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A clock that moves only when the test advances it. */
export class ManualClock implements Clock {
  readonly #timers = new Set<Timer>()
  #time = 0

  now(): number {
    return Date.UTC(2026, 0, 1) + this.#time
  }

  monotonic(): number {
    return this.#time
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#time + ms, run }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  get pending(): number {
    return this.#timers.size
  }

  async advance(ms: number): Promise<void> {
    const until = this.#time + ms
    await flush()
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at)[0]
      if (!due) break
      this.#timers.delete(due)
      this.#time = Math.max(this.#time, due.at)
      due.run()
      await flush()
    }
    this.#time = until
    await flush()
  }
}
