import { BulkheadError, type Clock } from '@bulkhead/contract'

/** Rest after so many deaths within the window; the last entry holds for all beyond it. */
const REST_MS = [0, 0, 0, 0, 1_000, 5_000, 15_000, 60_000] as const
const WINDOW_MS = 120_000

/**
 * How long an extension that keeps dying rests before it is started again. The first three deaths cost no wait: as many
 * attempts one call may make by itself.
 */
export class Restarts {
  #deaths: number[] = []

  /** `now` in monotonic milliseconds. */
  died(now: number): void {
    this.#deaths = [...this.#recent(now), now]
  }

  restMs(now: number): number {
    const deaths = this.#recent(now)
    const last = deaths.at(-1)
    if (last === undefined) return 0
    const rest = REST_MS[Math.min(deaths.length, REST_MS.length - 1)]!
    return Math.max(0, last + rest - now)
  }

  deaths(now: number): number {
    return this.#recent(now).length
  }

  /** Throws CompartmentQuarantined, which says for how long. */
  refuseWhileResting(extension: string, clock: Clock): void {
    const now = clock.monotonic()
    const retryAfterMs = Math.ceil(this.restMs(now))
    if (retryAfterMs === 0) return
    const until = new Date(clock.now() + retryAfterMs).toISOString()
    throw new BulkheadError(
      'CompartmentQuarantined', `The extension "${extension}" died ${this.deaths(now)} times and rests until ${until}.`,
      { data: { extension, retryAfterMs, until } },
    )
  }

  #recent(now: number): number[] {
    return this.#deaths.filter((at) => now - at < WINDOW_MS)
  }
}
