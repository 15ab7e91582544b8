import type { Clock } from '@bulkhead/contract'

/** Whether `work` settled, either way, before the time was over. Its own failure is the affair of whoever started it. */
export function settlesWithin(clock: Clock, ms: number, work: PromiseLike<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const stopTimer = clock.after(ms, () => resolve(false))
    const settled = () => {
      stopTimer()
      resolve(true)
    }
    work.then(settled, settled)
  })
}
