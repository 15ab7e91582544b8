import type { Clock, Store } from '@bulkhead/contract'
import { systemClock } from '@bulkhead/host'

/** As long as a host waits for any other answer of a store. */
const PATIENCE_MS = 30_000

/**
 * The end of a host is held up neither by a store that cannot be closed nor by one that does not answer: whoever must know whether
 * all was kept has flushed before. Never rejects.
 */
export function closeStore(store: Pick<Store, 'close'>, clock: Clock = systemClock): Promise<void> {
  return new Promise((resolve) => {
    const stopWaiting = clock.after(PATIENCE_MS, resolve)
    const closing = (async () => store.close())()
    closing.catch(() => undefined).then(() => {
      stopWaiting()
      resolve()
    })
  })
}
