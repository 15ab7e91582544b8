/** Settles like `work`, or rejects with the reason of the signal if that comes first. Removes its listener. */
export function untilAborted<Value>(work: PromiseLike<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise<Value>((resolve, reject) => {
    if (signal.aborted) {
      work.then(undefined, () => {})
      reject(signal.reason)
      return
    }
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    work.then(
      (value) => {
        signal.removeEventListener('abort', abort)
        resolve(value)
      },
      (thrown: unknown) => {
        signal.removeEventListener('abort', abort)
        reject(thrown)
      },
    )
  })
}
