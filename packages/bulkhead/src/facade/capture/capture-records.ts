import type { Store, StoredRecord } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'

/** What an inspector wants of the other hosts on its store. It is in the store only while capture is on. */
export interface CaptureOrder {
  /** When it was renewed, by the clock of the inspector. */
  readonly at: number
  /** The MCP servers whose messages are watched. */
  readonly servers: readonly string[]
}

/** How often an inspector renews its order. */
export const RENEW_MS = 10_000
/** An older order is of an inspector that ended without taking it back. Clocks of machines differ by less than that. */
const STALE_MS = 60_000

const ORDERS = 'order/'
const CAPTURED = 'captured/'
export const orderKey = (inspector: string): string => `${ORDERS}${inspector}`
/** Of arguments and result. */
export const callKey = (session: string, call: string): string =>
  `${CAPTURED}call/${encodeURIComponent(session.toWellFormed())}/${encodeURIComponent(call.toWellFormed())}`
const FRAMES = `${CAPTURED}frames/`
export const SERVERS = `${CAPTURED}servers/`
/** The names of its MCP servers. */
export const serversKey = (host: string): string => `${SERVERS}${host}`
export const framesKey = (server: string, host: string): string => `${FRAMES}${encodeURIComponent(server.toWellFormed())}/${host}`

/** The orders in force of other inspectors than that of the host `own`. Rejects with StoreUnavailable. */
export async function ordersIn(store: Pick<Store, 'list'>, own: string): Promise<readonly CaptureOrder[]> {
  return (await store.list('capture', ORDERS)).flatMap((record) => record.key === orderKey(own) ? [] : orderIn(record) ?? [])
}

/** undefined: it is none, or not in force any more. */
function orderIn({ key, value }: StoredRecord): CaptureOrder | undefined {
  if (!key.startsWith(ORDERS) || !isJsonObject(value) || typeof value['at'] !== 'number' || !Array.isArray(value['servers'])) return undefined
  if (Math.abs(Date.now() - value['at']) > STALE_MS) return undefined
  return { at: value['at'], servers: (value['servers'] as readonly Json[]).filter((name) => typeof name === 'string') }
}

/** Everything of a capture that is over. Rejects with StoreUnavailable. */
export async function clearCaptured(store: Pick<Store, 'list' | 'remove'>): Promise<void> {
  for (const record of await store.list('capture')) {
    if (orderIn(record) === undefined) await store.remove('capture', record.key)
  }
}
