import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { BulkheadError, requireOptions, type Store } from '@bulkhead/contract'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { AuditEnd, CHAIN_START, markFile, readMark, type ChainPosition } from '../records/audit-chain.ts'
import { storeError } from '../records/stored-record.ts'
import { prepareLocation, restrictToOwner } from './location.ts'
import { applySettings, migrate, refuseForeignFile } from './schema.ts'
import { CONNECTION, retryWhileBusy, sqliteError } from './sqlite-error.ts'
import { SqliteStore } from './sqlite-store.ts'

export interface SqliteStoreOptions {
  /** Created if it is missing, with its folder, readable only by the owner. Must be on a local disk. */
  readonly file: string
  /** The size limit of the file. Writes beyond it fail. The log next to it needs a few MiB more. */
  readonly maxBytes?: number
}

const DEFAULT_MAX_BYTES = 1024 ** 3
const MIN_MAX_BYTES = 64 * 1024

const OPTIONS: OptionForms<SqliteStoreOptions> = { file: forms.text, maxBytes: forms.number }

/**
 * Opens a durable store. Rejects with ConfigInvalid for invalid options, and with StoreUnavailable for a file that
 * cannot be used. Such a file is left unchanged.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  requireOptions('openSqliteStore', options, OPTIONS, 'file')
  const file = resolve(options.file)
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES
  if (!Number.isSafeInteger(maxBytes) || maxBytes < MIN_MAX_BYTES) {
    const cure = `Use a whole number of bytes, at least ${MIN_MAX_BYTES}.`
    throw new BulkheadError('ConfigInvalid', `maxBytes of the store ${file} is ${maxBytes}. ${cure}`)
  }
  try {
    prepareLocation(file)
    return await retryWhileBusy(() => open(file, maxBytes))
  } catch (error) {
    throw sqliteError(error, file)
  }
}

/** Contract: leaves nothing open when it throws. */
function open(file: string, maxBytes: number): Store {
  refuseLostAudit(file)
  const database = new DatabaseSync(file, CONNECTION)
  try {
    refuseForeignFile(database, file)
    applySettings(database, file, maxBytes)
    migrate(database)
    restrictToOwner(file)
    return new SqliteStore(database, file)
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Throws for a store that lost acknowledged records. Contract: changes nothing. Uses a read-only connection, because
 * closing a writable one would checkpoint the readable part of the log and remove the rest.
 */
function refuseLostAudit(file: string): void {
  // Read the mark before the store: writers record only positions that are already stored.
  const mark = readMark(file)
  if (mark === undefined) return
  const end = endOf(file)
  if (end.position > mark.position || (end.position === mark.position && end.link === mark.link)) return
  const message = [
    `The store ${file} lost records: audit record ${mark.position} was acknowledged, but it ends at ${end.position}.`,
    'Its log was damaged or removed, or the file was replaced by an older copy. Nothing was changed.',
    `Restore a backup with its companion files, or remove ${markFile(file)} to continue with the current content.`,
  ].join(' ')
  throw storeError('corrupt', message, { data: { file, acknowledged: mark.position, last: end.position } })
}

function endOf(file: string): ChainPosition {
  using database = new DatabaseSync(file, { ...CONNECTION, readOnly: true })
  refuseForeignFile(database, file)
  const isEmpty = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'audit_end'").get() === undefined
  return isEmpty ? { position: 0, link: CHAIN_START } : new AuditEnd(database).read()
}
