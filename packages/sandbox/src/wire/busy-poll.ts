import { setImmediate } from 'node:timers'
import { monotonicMs } from './monotonic-ms.ts'

/** For how long the next word is stayed awake for, in ms. One that comes within this is a quick one. */
const VIGIL_MS = 0.2
/** What a quick word saves whoever stays awake, in ms: to fall asleep and to be woken takes about as long. */
const WON_MS = 0.015
/** A slow word costs as much as it was waited for, up to this: what takes a while is not the fault of staying awake. */
const MOST_LOST_MS = 1
/** Some 65 quick words are the way out of debt, and two slow ones or a few that are only held up the way into it. */
const DEBT_MS = 1
const CREDIT_MS = 2

/** Taken now: what runs later in this thread may have put something else in its place. */
const { max, min } = Math

/**
 * To fall asleep and to be woken takes a thread as long as a short call does. While single messages go quickly back and forth, a side
 * stays awake for a moment after each of its own: its loop goes round, with all else that there is to do, instead of waiting. That is
 * in vain where the other side takes its time, or has to share the processor that is kept busy.
 */
export class Vigil {
  /** Since when the next word is waited for. */
  #saidAt: number | undefined
  #until = 0
  #isKept = false
  /** What it has won lately, less what it has lost, in ms. It is worth staying awake while this is above nothing. */
  #balance = -DEBT_MS

  /** Something has come. */
  heard(): void {
    if (this.#saidAt === undefined) return
    const waitedMs = monotonicMs() - this.#saidAt
    this.#saidAt = undefined
    this.#until = 0
    this.#balance = waitedMs < VIGIL_MS ? min(this.#balance + WON_MS, CREDIT_MS) : max(this.#balance - min(waitedMs, MOST_LOST_MS), -DEBT_MS)
  }

  /** A single message has left. */
  said(): void {
    this.#saidAt = monotonicMs()
    if (this.#balance <= 0) return
    this.#until = this.#saidAt + VIGIL_MS
    if (this.#isKept) return
    this.#isKept = true
    setImmediate(this.#keep)
  }

  readonly #keep = (): void => {
    this.#isKept = monotonicMs() < this.#until
    if (this.#isKept) setImmediate(this.#keep)
  }
}
