import type { ReplicaRecords } from '@bulkhead/bridges/mcp'
import type { Store } from '@bulkhead/contract'
import type { Owner } from '@bulkhead/host'
import { isJsonObject } from '@bulkhead/kit/json'

/** How long a client can continue after its replica has ended. Its session is gone before. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1000

/** The clients of MCP servers in a store that processes share. */
export function replicaRecords(store: Store, owner: Owner): ReplicaRecords {
  let purging: Promise<void> | undefined
  return {
    owner,
    read: (key) => store.read('client', key),
    update(key, change) {
      purging ??= purge(store, owner).catch(() => undefined)
      return store.update('client', key, change)
    },
  }
}

async function purge(store: Store, { isGone }: Owner): Promise<void> {
  for (const { key, value } of await store.list('client')) {
    const { at, owner } = isJsonObject(value) ? value : {}
    const isOld = typeof at !== 'number' || Date.now() - at > KEPT_MS
    if (isOld && (typeof owner !== 'string' || isGone(owner))) await store.remove('client', key)
  }
}
