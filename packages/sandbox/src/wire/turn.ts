import { setImmediate } from 'node:timers'
import { monotonicMs } from './monotonic-ms.ts'

/** For how long messages may be taken within one turn, in ms. */
const LONGEST_MS = 5
/** So few are taken without a look at the time. */
const FEW = 8

/**
 * One turn of a thread's loop. A port hands over up to a thousand messages in one, also those that come only meanwhile: two sides that
 * answer each other quickly would keep each other in it for half a second, and no timer, no socket and no other port would get its turn.
 */
export class Turn {
  #taken = 0
  #since: number | undefined
  #next: (() => void)[] = []

  /** Whether whoever takes messages should wait for the next turn with the rest. Asked after each. */
  isLong(): boolean {
    if (++this.#taken < FEW) return false
    if (this.#since !== undefined) return monotonicMs() - this.#since > LONGEST_MS
    this.#since = monotonicMs()
    setImmediate(this.#end)
    return false
  }

  /** Contract: must not throw, and only after this turn was found long. */
  inTheNext(run: () => void): void {
    this.#next.push(run)
  }

  readonly #end = (): void => {
    this.#taken = 0
    this.#since = undefined
    const next = this.#next
    if (next.length === 0) return
    this.#next = []
    for (const run of next) run()
  }
}
