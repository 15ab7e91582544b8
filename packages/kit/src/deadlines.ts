/** The part of a clock that wakes a caller. Both functions are what `Clock` of the contract promises. */
export interface Timer {
  /** Calls `run` after `ms`. Returns a function that stops the timer; it is idempotent. */
  after(ms: number, run: () => void): () => void
}

export interface TimeLimit {
  readonly clock: Timer
  readonly ms: number
  /** Made when the time is over: the reason of the rejection. */
  readonly late: () => unknown
  /** Ends the wait early, with the signal's reason. */
  readonly signal?: AbortSignal
}

/**
 * Settles as `work` does, or rejects when the time is over or the signal is aborted. A throw of `work` is a rejection.
 * A result that comes too late is ignored, and no timer or listener stays behind.
 */
export function within<Value>({ clock, ms, late, signal }: TimeLimit, work: () => PromiseLike<Value>): Promise<Value> {
  return new Promise<Value>((resolve, reject) => {
    const pending = work()
    if (signal?.aborted) {
      pending.then(undefined, () => {})
      reject(signal.reason)
      return
    }
    const stopTimer = clock.after(ms, () => {
      forget?.()
      reject(late())
    })
    const stop = () => {
      stopTimer()
      forget?.()
    }
    const forget = signal && onAbort(signal, () => {
      stopTimer()
      reject(signal.reason)
    })
    pending.then(
      (value) => {
        stop()
        resolve(value)
      },
      (thrown: unknown) => {
        stop()
        reject(thrown)
      },
    )
  })
}

/**
 * Whether `work` settled, either way, before the time was over. Its rejection is handled by the caller that started it.
 */
export function settlesWithin(clock: Timer, ms: number, work: PromiseLike<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const stopTimer = clock.after(ms, () => resolve(false))
    const settled = () => {
      stopTimer()
      resolve(true)
    }
    work.then(settled, settled)
  })
}

/**
 * Settles as `work` does, or rejects with the signal's reason when that comes first. A result that comes later is
 * ignored, and no listener stays behind.
 */
export function untilAborted<Value>(work: PromiseLike<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise<Value>((resolve, reject) => {
    if (signal.aborted) {
      work.then(undefined, () => {})
      reject(signal.reason)
      return
    }
    const forget = onAbort(signal, () => reject(signal.reason))
    work.then(
      (value) => {
        forget()
        resolve(value)
      },
      (thrown: unknown) => {
        forget()
        reject(thrown)
      },
    )
  })
}

/**
 * Runs `cancel` once when the signal is aborted, at once if it already is. Returns a function that removes the
 * listener.
 */
export function onAbort(signal: AbortSignal, cancel: () => void): () => void {
  if (signal.aborted) {
    cancel()
    return () => {}
  }
  // A wrapper, because the same function added twice is one listener, and removing it would remove both.
  const listener = () => cancel()
  signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

/** Whether a callback of other code returned a promise, which may come from another library or another realm. */
export const isPromiseLike = <Value>(answer: Value | PromiseLike<Value>): answer is PromiseLike<Value> =>
  answer instanceof Promise || typeof (answer as { readonly then?: unknown } | null | undefined)?.then === 'function'
