import type { Clock, Store } from '@bulkhead/contract'
import { systemClock } from '@bulkhead/host'

/** The same timeout as for other store operations. */
const CLOSE_TIMEOUT_MS = 30_000

/**
 * Closes the store with a timeout, so that a faulty store cannot block `host.close()`. Call `flush()` first to learn
 * whether everything was stored. Never rejects.
 */
export function closeStore(store: Pick<Store, 'close'>, clock: Clock = systemClock): Promise<void> {
  return new Promise((done) => {
    const stopWaiting = clock.after(CLOSE_TIMEOUT_MS, done)
    const closing = (async () => store.close())()
    closing.catch(() => undefined).then(() => {
      stopWaiting()
      done()
    })
  })
}
