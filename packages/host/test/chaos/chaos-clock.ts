import { LONGEST_TIMER_MS, type Clock } from '@bulkhead/contract'
import type { Crossings } from './crossings.ts'

interface Timer {
  readonly due: number
  fire(): void
  stop(): void
}

/** The backoff between attempts would be real time. */
const isBackOff = (ms: number): boolean => ms > 1_400 && ms < 3_000

/** Real time that a test can also advance. */
export class ChaosClock implements Clock {
  readonly #crossings: Crossings
  readonly #timers = new Set<Timer>()
  #passed = 0

  constructor(crossings: Crossings) {
    this.#crossings = crossings
  }

  now(): number {
    return Date.now() + this.#passed
  }

  monotonic(): number {
    return performance.now() + this.#passed
  }

  after(ms: number, run: () => void): () => void {
    const fault = this.#crossings.strike('clock.after', ['hang', 'twice', 'kill'])
    if (fault === 'hang') return () => {}
    const handle = setTimeout(() => timer.fire(), isBackOff(ms) ? 0 : Math.min(ms, LONGEST_TIMER_MS))
    const timer: Timer = {
      due: this.monotonic() + ms,
      fire: () => {
        if (!this.#timers.delete(timer)) return
        clearTimeout(handle)
        run()
        if (fault === 'twice') run()
      },
      stop: () => {
        this.#timers.delete(timer)
        clearTimeout(handle)
      },
    }
    this.#timers.add(timer)
    return timer.stop
  }

  get pending(): number {
    return this.#timers.size
  }

  pass(ms: number): void {
    this.#passed += ms
    const now = this.monotonic()
    for (const timer of [...this.#timers].toSorted((a, b) => a.due - b.due)) if (timer.due <= now) timer.fire()
  }
}
