/** Calls `work` at most once in each turn of the event loop. If it throws, the next use calls it again. */
export function oncePerTick(work: () => void): () => void {
  let isDone = false
  const forget = (): void => { isDone = false }
  return () => {
    if (isDone) return
    work()
    isDone = true
    setImmediate(forget)
  }
}
