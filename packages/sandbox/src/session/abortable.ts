import { BulkheadError } from '@bulkhead/contract'

/** Waits no longer than until the signal aborts; what was begun goes on for others. It is not begun for who has given up. */
export function abortable<T>(begin: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return begin()
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(BulkheadError.from(signal.reason, 'ToolCancelled'))
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    begin().finally(() => signal.removeEventListener('abort', abort)).then(resolve, reject)
  })
}
