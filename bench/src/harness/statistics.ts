/** Median, quartiles and relative spread. */
export interface Summary {
  readonly median: number
  /** First and third quartile. */
  readonly low: number
  readonly high: number
  /** (high − low) ÷ median. Unlike a standard deviation, it is robust against one stalled round. */
  readonly spread: number
}

/** The q-quantile of ascending values, interpolated between neighbours (Hyndman and Fan's type 7). */
export function quantile(sorted: ArrayLike<number>, q: number): number {
  const position = (sorted.length - 1) * q
  const below = Math.floor(position)
  const lower = sorted[below]
  const upper = sorted[Math.ceil(position)]
  if (lower === undefined || upper === undefined) throw new RangeError(`No quantile ${q} of ${sorted.length} values.`)
  return lower + (upper - lower) * (position - below)
}

export function ascending(values: Iterable<number>): Float64Array {
  return Float64Array.from(values).toSorted()
}

export function summarize(values: Iterable<number>): Summary {
  const sorted = ascending(values)
  const median = quantile(sorted, 0.5)
  const low = quantile(sorted, 0.25)
  const high = quantile(sorted, 0.75)
  return { median, low, high, spread: high === low ? 0 : (high - low) / median }
}
