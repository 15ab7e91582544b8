import type { Clock } from '@bulkhead/contract'

/** Silence after which a storm of changes counts as over, and the longest it may put a reload off. */
const QUIET_MS = 150
const LONGEST_MS = 2_000

/** Turns any number of changes in a short time into one word. */
export class ChangeWatch {
  readonly #clock: Clock
  readonly #settled: () => void
  #since: number | undefined
  #stopTimer: (() => void) | undefined

  /** `settled` is called once for each storm. Contract: must not throw. */
  constructor(clock: Clock, settled: () => void) {
    this.#clock = clock
    this.#settled = settled
  }

  changed(): void {
    const now = this.#clock.monotonic()
    this.#since ??= now
    this.#stopTimer?.()
    this.#stopTimer = this.#clock.after(Math.max(0, Math.min(QUIET_MS, this.#since + LONGEST_MS - now)), () => {
      this.stop()
      this.#settled()
    })
  }

  /** Forgets a storm that is not over. */
  stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#since = undefined
  }
}
