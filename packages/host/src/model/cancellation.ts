/** Runs `cancel` once when the signal is aborted, at once if it already is. Returns its disposer. */
export function onAbort(signal: AbortSignal, cancel: () => void): () => void {
  if (signal.aborted) {
    cancel()
    return () => {}
  }
  // A function of its own: the same one twice would be one listener, and disposing of one would silence both.
  const listener = () => cancel()
  signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}
