/** Upper bounds in ms, each about twice the one before. What is longer falls into one more bucket. */
export const BUCKET_BOUNDS: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000]

/** How long things took, in a fixed amount of memory. */
export class Histogram {
  readonly #counts = Array.from({ length: BUCKET_BOUNDS.length + 1 }, () => 0)
  #count = 0
  #sum = 0
  #max = 0

  record(ms: number): void {
    let bucket = 0
    while (bucket < BUCKET_BOUNDS.length && ms > BUCKET_BOUNDS[bucket]!) bucket++
    this.#counts[bucket]!++
    this.#count++
    this.#sum += ms
    if (ms > this.#max) this.#max = ms
  }

  snapshot(): HistogramSnapshot {
    return {
      count: this.#count, sum: this.#sum, max: this.#max, bounds: BUCKET_BOUNDS, buckets: [...this.#counts],
      p50: this.#quantile(0.5), p95: this.#quantile(0.95), p99: this.#quantile(0.99),
    }
  }

  /** The upper bound of the bucket it falls into, and never more than the longest there was. */
  #quantile(share: number): number {
    const rank = Math.ceil(this.#count * share)
    let seen = 0
    for (const [bucket, count] of this.#counts.entries()) {
      seen += count
      if (seen >= rank && rank > 0) return Math.min(BUCKET_BOUNDS[bucket] ?? this.#max, this.#max)
    }
    return 0
  }
}

export interface HistogramSnapshot {
  readonly count: number
  /** In ms. */
  readonly sum: number
  readonly max: number
  /** Upper bounds in ms. */
  readonly bounds: readonly number[]
  /** One for each bound, and one for what is longer. */
  readonly buckets: readonly number[]
  readonly p50: number
  readonly p95: number
  readonly p99: number
}
