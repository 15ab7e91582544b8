/** In one turn of the event loop, for all who search together, in ms. */
const SLICE_MS = 10

const waiting: (() => void)[] = []
let ends = -Infinity

/**
 * Whether those who match names in the host's own thread have had their part of this turn. A stranger chooses the pattern, and
 * has made the names: what each takes is bounded, how many there are is not. To be asked before each piece of work.
 */
export const isSliceSpent = (): boolean => performance.now() > ends

/** The next part, in a later turn; whoever waits gets one in their order. */
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
