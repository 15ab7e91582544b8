import { setImmediate } from 'node:timers'
import { monotonicMs } from './clock.ts'

/**
 * How long to poll for the next message, in ms. A message within this time is a fast one. A guarded call of a tool that
 * reads a file takes 0.15 to 0.3 ms; with 0.2 each second message came late, and such a call took a third longer.
 */
const POLL_MS = 0.4
/** What a fast message saves, in ms: about the time to put a thread to sleep and wake it. */
const GAIN_MS = 0.015
/** A slow message costs the time it was waited for, up to this. */
const MAX_LOSS_MS = 1
/** About 65 fast messages lead out of the debt, two slow ones back into it. */
const DEBT_MS = 1
const CREDIT_MS = 2

/** Captured before extension code runs, which could replace them. */
const { max, min } = Math

/**
 * Keeps the event loop turning for a moment after a single message was sent, while replies come fast. Waking a sleeping
 * thread takes as long as a short call: on a quiet machine a guarded call in a thread takes 1.3 × plain Comlink without
 * it and 0.95 to 1.0 × with it (decision 107). It stops where the other side is slow or shares the processor.
 */
export class BusyPoll {
  /** When the message was sent whose reply is awaited. */
  #sentAt: number | undefined
  #until = 0
  #isPolling = false
  /** Recent gains less losses, in ms. Polling pays while this is positive. */
  #balance = -DEBT_MS

  received(): void {
    if (this.#sentAt === undefined) return
    const waitedMs = monotonicMs() - this.#sentAt
    this.#sentAt = undefined
    this.#until = 0
    this.#balance = waitedMs < POLL_MS
      ? min(this.#balance + GAIN_MS, CREDIT_MS)
      : max(this.#balance - min(waitedMs, MAX_LOSS_MS), -DEBT_MS)
  }

  /** A single message was sent. */
  sent(): void {
    this.#sentAt = monotonicMs()
    if (this.#balance <= 0) return
    this.#until = this.#sentAt + POLL_MS
    if (this.#isPolling) return
    this.#isPolling = true
    setImmediate(this.#poll)
  }

  readonly #poll = (): void => {
    this.#isPolling = monotonicMs() < this.#until
    if (this.#isPolling) setImmediate(this.#poll)
  }
}
