import type { ReplicaRecords } from '@bulkhead/bridges/mcp'
import type { Store } from '@bulkhead/contract'
import type { Owner } from '@bulkhead/host'

/** The clients of MCP servers in a store that processes share. */
export const replicaRecords = (store: Store, owner: Owner): ReplicaRecords => ({
  owner,
  read: (key) => store.read('client', key),
  update: (key, change) => store.update('client', key, change),
})
