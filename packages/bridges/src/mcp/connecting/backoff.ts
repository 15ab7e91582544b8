/** How long a server that failed is left alone, by how often it has failed in a row. */
const RESTS_MS = [1_000, 2_000, 5_000, 15_000, 60_000] as const

export class Rests {
  readonly #now: () => number
  #failures = 0
  #until = 0

  constructor(now: () => number) {
    this.#now = now
  }

  get leftMs(): number {
    return Math.max(0, this.#until - this.#now())
  }

  failed(): void {
    this.#until = this.#now() + RESTS_MS[Math.min(this.#failures, RESTS_MS.length - 1)]!
    this.#failures++
  }

  /** Only an answer shows that a server works: one that dies of every call can be connected to. */
  worked(): void {
    this.#failures = 0
  }
}
