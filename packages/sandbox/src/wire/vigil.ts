import { setImmediate } from 'node:timers'
import { monotonicMs } from './monotonic-ms.ts'

/** For how long the next word is stayed awake for, in ms. One that comes within this is a quick one. */
const VIGIL_MS = 0.2
/** A slow word weighs as much as this many quick ones: by so much is the time kept small that somebody stays awake in vain. */
const SLOW_WEIGHS = 64

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
  /** How well it went. It is worth staying awake while this is above nothing. */
  #credit = -SLOW_WEIGHS

  /** Something has come. */
  heard(): void {
    if (this.#saidAt === undefined) return
    const isQuick = monotonicMs() - this.#saidAt < VIGIL_MS
    this.#saidAt = undefined
    this.#until = 0
    this.#credit = isQuick ? min(this.#credit + 1, SLOW_WEIGHS) : max(this.#credit - SLOW_WEIGHS, -SLOW_WEIGHS)
  }

  /** A single message has left. */
  said(): void {
    this.#saidAt = monotonicMs()
    if (this.#credit <= 0) return
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
