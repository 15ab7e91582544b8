import type { HealthSeries } from '../../protocol.ts'

const POINT_MS = 5_000
const POINTS = 120
/** Durations of one point that count for its quantiles. */
const MOST_DURATIONS = 1_000

interface Point {
  calls: number
  failed: number
  readonly durations: number[]
}

/** Calls and durations of the last ten minutes. */
export class CallSeries {
  readonly #points = new Map<number, Point>()
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** `ms`: without the time in which people were asked. */
  add(failed: boolean, ms: number): void {
    const at = Math.floor(this.#now() / POINT_MS)
    let point = this.#points.get(at)
    if (point === undefined) {
      this.#points.set(at, point = { calls: 0, failed: 0, durations: [] })
      for (const old of this.#points.keys()) if (old <= at - POINTS) this.#points.delete(old)
    }
    point.calls++
    if (failed) point.failed++
    if (point.durations.length < MOST_DURATIONS) point.durations.push(ms)
    else if (point.calls % 10 === 0) point.durations[(point.calls / 10) % MOST_DURATIONS] = ms
  }

  view(): HealthSeries {
    const last = Math.floor(this.#now() / POINT_MS)
    const points = Array.from({ length: POINTS }, (_, index) => this.#points.get(last - POINTS + 1 + index))
    const sorted = points.map((point) => point?.durations.toSorted((a, b) => a - b))
    return {
      pointMs: POINT_MS, from: (last - POINTS + 1) * POINT_MS,
      calls: points.map((point) => point?.calls ?? 0), failed: points.map((point) => point?.failed ?? 0),
      p50Ms: sorted.map((durations) => quantile(durations, 0.5)), p95Ms: sorted.map((durations) => quantile(durations, 0.95)),
    }
  }
}

const quantile = (sorted: readonly number[] | undefined, share: number): number | null =>
  sorted?.[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null
