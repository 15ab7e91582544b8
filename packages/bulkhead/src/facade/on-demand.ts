// Each implementation is loaded by the first call, so that importing the library stays cheap.
import type { Store } from '@bulkhead/contract'
import type { SqliteStoreOptions } from '@bulkhead/store'
import type { CreateHostOptions, Host } from './create-host.ts'

/**
 * Creates a host: loads and verifies extensions, and runs calls. Rejects with ConfigInvalid for invalid options, and with
 * ProjectPathInvalid for a workspace that cannot be opened.
 */
export async function createHost(options: CreateHostOptions): Promise<Host> {
  const implementation = await import('./create-host.ts')
  return implementation.createHost(options)
}

/** Opens or creates a store on disk. Rejects with ConfigInvalid or StoreUnavailable. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const implementation = await import('@bulkhead/store')
  return implementation.openSqliteStore(options)
}
