import { setImmediate } from 'node:timers/promises'
import { BulkheadError, type Clock } from '@bulkhead/contract'

/** A clock that stands still until `advance` moves it. */
export interface FakeClock extends Clock {
  /**
   * Runs the timers that become due, in order. Promises settle after each of them, so a timer that one of them starts
   * runs as well. Rejects with InputInvalid for a time that is not a number of at least 0.
   */
  advance(ms: number): Promise<void>
}

interface Timer {
  readonly due: number
  readonly run: () => void
}

/** `start` is the first time it shows. Throws InputInvalid. */
export function createFakeClock(start: Date = new Date('2030-01-01T00:00:00Z')): FakeClock {
  if (!(start instanceof Date) || Number.isNaN(start.getTime())) {
    throw new BulkheadError('InputInvalid', 'createFakeClock takes a valid Date.')
  }
  const timers = new Set<Timer>()
  let elapsed = 0
  // A timer that started first comes first among those that are due at the same time.
  const nextUntil = (end: number): Timer | undefined =>
    [...timers].filter(({ due }) => due <= end).toSorted((one, other) => one.due - other.due)[0]
  return {
    now: () => start.getTime() + elapsed,
    monotonic: () => elapsed,
    after(ms, run) {
      const timer = { due: elapsed + Math.max(0, ms), run }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    async advance(ms) {
      if (!(ms >= 0)) throw new BulkheadError('InputInvalid', `advance takes milliseconds of at least 0, not ${ms}.`)
      const end = elapsed + ms
      await setImmediate()
      for (let next = nextUntil(end); next; next = nextUntil(end)) {
        timers.delete(next)
        elapsed = Math.max(elapsed, next.due)
        next.run()
        await setImmediate()
      }
      elapsed = Math.max(elapsed, end)
    },
  }
}
