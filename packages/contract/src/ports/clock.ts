/** The longest a timer of the platform can wait; asked for more, it would fire at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Time, so that tests can own it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds that never go back, for durations. */
  monotonic(): number
  /** Calls once after at least `ms`. Returns its disposer. A pending timer does not keep the process alive. */
  after(ms: number, run: () => void): () => void
}
