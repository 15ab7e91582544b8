/** Taken now: what runs later in this thread may have put something else in its place. */
const { now } = Date
const SECOND_MS = 1_000

/** How often something may be done: a steady rate, and after a rest some of it at once. */
export class Pace {
  readonly #perSecond: number
  readonly #atOnce: number
  #allowance: number
  #at = now()

  constructor(perSecond: number, atOnce: number) {
    this.#perSecond = perSecond
    this.#atOnce = atOnce
    this.#allowance = atOnce
  }

  /** Whether it may be done now; then it counts as done. */
  take(): boolean {
    const at = now()
    // A clock that was set back gives nothing, and takes nothing.
    this.#allowance = Math.min(this.#atOnce, this.#allowance + Math.max(0, at - this.#at) * this.#perSecond / SECOND_MS)
    this.#at = at
    if (this.#allowance < 1) return false
    this.#allowance--
    return true
  }
}
