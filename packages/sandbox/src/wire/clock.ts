/** Captured before extension code runs, which could replace it. */
const { hrtime } = process

/**
 * A monotonic clock. Not `performance`: loading it would cost a child process and its thread 1.2 ms each at the start.
 */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = hrtime()
  return seconds * 1_000 + nanoseconds / 1e6
}
