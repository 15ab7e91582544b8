import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Store } from '@bulkhead/contract'
import { BulkheadError, requireOptions } from '@bulkhead/contract/plain'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { refuseLostEnd } from './audit/lost-end.ts'
import { keepFromOthers, prepareLocation } from './location.ts'
import { BLOCKING_WAIT_MS, patiently } from './patience.ts'
import { migrate, refuseStrangers } from './schema.ts'
import { applySettings } from './settings.ts'
import { sqliteFault } from './sqlite-fault.ts'
import { SqliteStore } from './sqlite-store.ts'

export interface SqliteStoreOptions {
  /** Made when it is missing, with its folder, for the owner alone. Must be on a local disk. */
  readonly file: string
  /** The file does not grow beyond this; writes that would need to are refused. The log beside it takes a few MiB more. */
  readonly maxBytes?: number
}

const DEFAULT_MAX_BYTES = 1024 ** 3
const LEAST_MAX_BYTES = 64 * 1024

const OPTIONS: OptionForms<SqliteStoreOptions> = { file: forms.text, maxBytes: forms.number }

/** The store that remembers. Rejects with ConfigInvalid, or with StoreUnavailable for a file it must not touch, having changed nothing. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  requireOptions('openSqliteStore', options, OPTIONS, 'file')
  const file = resolve(options.file)
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES
  if (!Number.isSafeInteger(maxBytes) || maxBytes < LEAST_MAX_BYTES) {
    const cure = `Give a whole number of bytes, at least ${LEAST_MAX_BYTES}.`
    throw new BulkheadError('ConfigInvalid', `maxBytes of the store ${file} is ${maxBytes}. ${cure}`)
  }
  try {
    prepareLocation(file)
    return await patiently(() => open(file, maxBytes))
  } catch (error) {
    throw sqliteFault(error, file)
  }
}

/** Contract: leaves nothing open when it throws. */
function open(file: string, maxBytes: number): Store {
  refuseLostEnd(file)
  const database = new DatabaseSync(file, { timeout: BLOCKING_WAIT_MS, allowExtension: false, defensive: true })
  try {
    refuseStrangers(database, file)
    applySettings(database, file, maxBytes)
    migrate(database)
    keepFromOthers(file)
    return new SqliteStore(database, file)
  } catch (error) {
    database.close()
    throw error
  }
}
