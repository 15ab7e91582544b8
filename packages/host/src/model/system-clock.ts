import { LONGEST_TIMER_MS, type Clock } from '@bulkhead/contract'
import { Roster, type Entry } from './roster.ts'

interface Wait {
  readonly due: number
  readonly run: () => void
  place: Entry<Wait> | undefined
}

/**
 * One timer of the platform for all who wait: nearly everything that is waited for with a deadline is over long before it, and
 * to start and to stop a timer of its own would cost each call more than to be judged. The process goes on for as long as
 * anybody waits: a person who does not answer leaves nothing else that would keep it until their time is over.
 */
export class SystemClock implements Clock {
  readonly #waiting = new Roster<Wait>()
  #timer: NodeJS.Timeout | undefined
  /** When the timer goes off. Whoever has stopped waiting leaves it as it is. */
  #next = Infinity

  now(): number {
    return Date.now()
  }

  monotonic(): number {
    return performance.now()
  }

  after(ms: number, run: () => void): () => void {
    const wait: Wait = { due: this.monotonic() + ms, run, place: undefined }
    const place = wait.place = this.#waiting.enter(wait)
    if (wait.due < this.#next) this.#wakeAt(wait.due)
    else if (this.#waiting.size === 1) this.#timer?.ref()
    return () => {
      if (this.#waiting.leave(place) && this.#waiting.size === 0) this.#timer?.unref()
    }
  }

  #wakeAt(due: number): void {
    clearTimeout(this.#timer)
    this.#next = due
    this.#timer = setTimeout(this.#wake, Math.min(Math.max(0, Math.ceil(due - this.monotonic())), LONGEST_TIMER_MS))
  }

  readonly #wake = (): void => {
    const now = this.monotonic()
    const due = this.#waiting.members().filter((wait) => wait.due <= now).toSorted((one, other) => one.due - other.due)
    try {
      for (const wait of due) if (this.#waiting.leave(wait.place!)) wait.run()
    } finally {
      // Whatever one of them throws, the others are not forgotten.
      this.#next = Infinity
      const next = this.#waiting.members().reduce((earliest, wait) => Math.min(earliest, wait.due), Infinity)
      if (next < Infinity) this.#wakeAt(next)
    }
  }
}

export const systemClock: Clock = new SystemClock()
