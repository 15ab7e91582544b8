import type { ReplicaRecords } from '@bulkhead/bridges/mcp'
import type { ConfigFile, Store } from '@bulkhead/contract'
import type { Owner } from '@bulkhead/host'
import { isJsonObject } from '@bulkhead/kit/json'

const DAY_MS = 24 * 60 * 60 * 1000
const CLIENT_DAYS = 30

/** The clients of MCP servers in a store that processes share. */
export function replicaRecords(store: Store, owner: Owner, config: Pick<ConfigFile, 'store'> = {}): ReplicaRecords {
  const keptMs = (config.store?.retention?.clientDays ?? CLIENT_DAYS) * DAY_MS
  let purging: Promise<void> | undefined
  return {
    owner,
    read: (key) => store.read('client', key),
    update(key, change) {
      purging ??= purge(store, owner, keptMs).catch(() => undefined)
      return store.update('client', key, change)
    },
  }
}

async function purge(store: Store, { isGone }: Owner, keptMs: number): Promise<void> {
  for (const { key, value } of await store.list('client')) {
    const { at, owner } = isJsonObject(value) ? value : {}
    const isOld = typeof at !== 'number' || Date.now() - at > keptMs
    if (isOld && (typeof owner !== 'string' || isGone(owner))) await store.remove('client', key)
  }
}
