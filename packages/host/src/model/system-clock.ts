// The global of this name is a getter.
import { performance } from 'node:perf_hooks'
import { LONGEST_TIMER_MS, type Clock } from '@bulkhead/contract'
import { LinkedList, type Place } from './linked-list.ts'

interface Wait {
  readonly due: number
  readonly run: () => void
  place: Place<Wait> | undefined
}

/**
 * One timer of the platform for all waits. Nearly every wait of a call ends long before its deadline. With a timer for
 * each, a guarded call takes 11 % longer (processor time of the host, 64 abreast, process). A pending wait keeps the
 * process alive: the process may wait for nothing but the answer of a person.
 */
export class SystemClock implements Clock {
  readonly #waits = new LinkedList<Wait>()
  #timer: NodeJS.Timeout | undefined
  /** When the timer goes off. A wait that is stopped leaves it as it is. */
  #next = Infinity

  now(): number {
    return Date.now()
  }

  monotonic(): number {
    return performance.now()
  }

  after(ms: number, run: () => void): () => void {
    const wait: Wait = { due: this.monotonic() + ms, run, place: undefined }
    const place = wait.place = this.#waits.add(wait)
    if (wait.due < this.#next) this.#wakeAt(wait.due)
    else if (this.#waits.size === 1) this.#timer?.ref()
    return () => {
      if (this.#waits.remove(place) && this.#waits.size === 0) this.#timer?.unref()
    }
  }

  #wakeAt(due: number): void {
    clearTimeout(this.#timer)
    this.#next = due
    this.#timer = setTimeout(this.#wake, Math.min(Math.max(0, Math.ceil(due - this.monotonic())), LONGEST_TIMER_MS))
  }

  readonly #wake = (): void => {
    const now = this.monotonic()
    const due = this.#waits.items().filter((wait) => wait.due <= now).toSorted((one, other) => one.due - other.due)
    try {
      for (const wait of due) if (this.#waits.remove(wait.place!)) wait.run()
    } finally {
      // If one callback throws, the others keep their timer.
      this.#next = Infinity
      const next = this.#waits.items().reduce((earliest, wait) => Math.min(earliest, wait.due), Infinity)
      if (next < Infinity) this.#wakeAt(next)
    }
  }
}

export const systemClock: Clock = new SystemClock()
