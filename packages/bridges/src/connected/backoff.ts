/** How long to wait after a failure, by the number of failures in a row. */
const WAIT_MS = [1_000, 2_000, 5_000, 15_000, 60_000] as const

/** The jail ended a server that used too much. It worked until then, so the next call may start it at once. */
export class LimitReached extends Error {}

/** The time to wait before reconnecting to a server that failed. */
export class Backoff {
  readonly #now: () => number
  #failures = 0
  #until = 0

  constructor(now: () => number) {
    this.#now = now
  }

  get leftMs(): number {
    return Math.max(0, this.#until - this.#now())
  }

  failed(why?: unknown): void {
    if (why instanceof LimitReached) return this.forget()
    this.#until = this.#now() + WAIT_MS[Math.min(this.#failures, WAIT_MS.length - 1)]!
    this.#failures++
  }

  /** The next attempt may start at once. */
  forget(): void {
    this.#failures = 0
    this.#until = 0
  }

  /** Call this after a successful call, not after connecting: a server may accept connections and fail every call. */
  succeeded(): void {
    this.#failures = 0
  }
}
