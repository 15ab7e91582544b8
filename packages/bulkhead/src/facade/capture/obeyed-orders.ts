import type { ConfigFile, Store } from '@bulkhead/contract'
import type { CapturedCalls } from './captured-calls.ts'
import { clearCaptured, ordersIn } from './capture-records.ts'

export interface OrderSources {
  readonly store: Store
  /** Of this host on the store. Its own inspector hears of calls without the store. */
  readonly id: string
  readonly config: () => Pick<ConfigFile, 'record'>
  /** Sessions are open. Otherwise nothing is looked for. */
  readonly isBusy: () => boolean
  readonly begin: () => Promise<CapturedCalls>
}

/** How long after its order a capture begins or ends, at most. */
const LOOK_MS = 2_000

/**
 * Captures for inspectors of other processes on the store, while one of them has capture switched on. `"record": false`,
 * of the machine or of the user, forbids it: what is captured is in the store. Returns how to stop.
 */
export function obeyOrders({ store, id, config, isBusy, begin }: OrderSources): () => Promise<void> {
  let captured: CapturedCalls | undefined
  let looking: Promise<void> | undefined
  let isFirst = true
  const look = async (): Promise<void> => {
    if (config().record === false || (captured === undefined && !isBusy())) return
    const orders = await ordersIn(store, id)
    if (orders.length === 0 && isFirst) await clearCaptured(store)
    isFirst = false
    if (orders.length === 0) {
      const ended = captured
      captured = undefined
      await ended?.end()
    } else {
      captured ??= await begin()
      captured.watch(new Set(orders.flatMap(({ servers }) => servers)))
    }
  }
  const timer = setInterval(() => {
    // A store that fails is reported by those who need it.
    looking ??= look().catch(() => undefined).finally(() => { looking = undefined })
  }, LOOK_MS).unref()
  return async () => {
    clearInterval(timer)
    await looking
    await captured?.end().catch(() => undefined)
  }
}
