/** Time for all searches together in one turn of the event loop. */
const SLICE_MS = 10

const waiting: (() => void)[] = []
let ends = -Infinity

/**
 * Whether searches have used up their time in this turn. Pattern and names are untrusted: the cost of one match is bounded,
 * their number is not. Call it before each match.
 */
export const isSliceSpent = (): boolean => performance.now() > ends

/** Resolves in a later turn. First come, first served. */
export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(begin)
  })
}

function begin(): void {
  ends = performance.now() + SLICE_MS
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(begin)
}
