import { existsSync } from 'node:fs'
import type { Store } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract/plain'
import { openSqliteStore } from '@bulkhead/store'
import { storeFile } from '../facade/store-file.ts'

/** Looking must not make a store where there is none. `what`: that which is looked for there. */
export async function withStore<Value>(home: string | undefined, what: string, use: (store: Store) => Promise<Value>): Promise<Value> {
  const file = storeFile(home)
  if (!existsSync(file)) {
    throw new BulkheadError('StoreUnavailable', `There is no ${what} at ${file}. It is made by the first call, or is elsewhere: use --home.`)
  }
  const store = await openSqliteStore({ file })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}
