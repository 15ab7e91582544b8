import type { ErrorCode, ErrorOutcome, Outcome, OutcomeOrigin } from '@bulkhead/contract'

/** Upper bounds in ms, each about twice the one before. One more bucket holds longer durations. */
export const BUCKET_BOUNDS: readonly number[] =
  [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000]

/** A histogram of durations in a fixed amount of memory. */
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

  /** The upper bound of its bucket, at most the longest duration. */
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
  /** One for each bound, and one for longer durations. */
  readonly buckets: readonly number[]
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/** The outcomes of the calls of one tool of one extension. */
export interface ToolMetrics {
  readonly tool: string
  readonly extension: string
  readonly layer: string
  readonly succeeded: number
  readonly failed: number
  /** Denied before they ran, or stopped. */
  readonly cancelled: number
  readonly byCode: ReadonlyMap<ErrorCode, number>
  /** Of all calls that ran to an end, without the time in which people were asked. */
  readonly durationMs: HistogramSnapshot
}

/** Whether a failed call never ran or was stopped, and so counts as cancelled. A recorded outcome counts as it did before. */
export const wasCancelled = ({ error: { class: errorClass, code }, metadata }: ErrorOutcome): boolean => {
  const ran = metadata.attempt > 0 || (metadata.replayed === true && code !== 'ClarificationNeeded')
  return !ran || errorClass === 'Cancellation'
}

/** A tool whose calls are counted. */
interface CountedTool {
  readonly name: string
  readonly origin: OutcomeOrigin
}

class Counts {
  readonly #names: Pick<ToolMetrics, 'tool' | 'extension' | 'layer'>
  readonly #byCode = new Map<ErrorCode, number>()
  readonly #durations = new Histogram()
  #succeeded = 0
  #failed = 0
  #cancelled = 0

  constructor({ name, origin: { extension, layer } }: CountedTool) {
    this.#names = { tool: name, extension, layer }
  }

  count(outcome: Outcome, askedMs: number): void {
    if (outcome.type === 'output') this.#succeeded++
    else {
      const { error: { code } } = outcome
      this.#byCode.set(code, (this.#byCode.get(code) ?? 0) + 1)
      if (wasCancelled(outcome)) {
        this.#cancelled++
        return
      }
      this.#failed++
    }
    this.#durations.record(Math.max(0, Math.round(outcome.metadata.duration_ms - askedMs)))
  }

  snapshot(): ToolMetrics {
    const counts = { succeeded: this.#succeeded, failed: this.#failed, cancelled: this.#cancelled }
    return { ...this.#names, ...counts, byCode: new Map(this.#byCode), durationMs: this.#durations.snapshot() }
  }
}

/** Counts the outcomes of calls. Unknown names are not counted: a model could invent any number of them. */
export class MetricsRecorder {
  readonly #tools = new Map<string, Counts>()
  /** The same by tool object. A reload creates new ones. */
  readonly #known = new WeakMap<CountedTool, Counts>()

  /** `askedMs`: for how long people were asked. */
  count(tool: CountedTool, outcome: Outcome, askedMs: number): void {
    const counts = this.#known.get(tool) ?? this.#find(tool)
    counts.count(outcome, askedMs)
  }

  snapshot(): readonly ToolMetrics[] {
    return [...this.#tools.values()].map((counts) => counts.snapshot())
  }

  #find(tool: CountedTool): Counts {
    const { name, origin: { layer, extension } } = tool
    const key = `${layer} ${extension} ${name}`
    const counts = this.#tools.get(key) ?? new Counts(tool)
    this.#tools.set(key, counts)
    this.#known.set(tool, counts)
    return counts
  }
}
