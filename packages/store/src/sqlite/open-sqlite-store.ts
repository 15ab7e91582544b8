import { chmodSync, closeSync, lstatSync, openSync, rmSync, type Stats } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { BulkheadError, requireOptions, type Store } from '@bulkhead/contract'
import { makeFolder } from '@bulkhead/kit/folders'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { AuditEnd, CHAIN_START, markFile, readMark, type ChainPosition } from '../records/audit-chain.ts'
import { storeError } from '../records/stored-record.ts'
import { settingsFor } from './database-file.ts'
import { migrate, pragmaNumber, refuseForeignFile } from './schema.ts'
import { BLOCKING_WAIT_MS, isSystemError, retryWhileBusy, sqliteError } from './sqlite-error.ts'
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

const CONNECTION = { timeout: BLOCKING_WAIT_MS, allowExtension: false, defensive: true }

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

/** Applies the settings of the connection. Only the journal mode is stored in the file. */
export function applySettings(database: DatabaseSync, file: string, maxBytes: number): void {
  const journal = database.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode']
  if (journal !== 'wal') {
    const message = `The store ${file} is on a disk that does not support a write-ahead log. Use a local disk.`
    throw storeError('location', message, { data: { file } })
  }
  // NORMAL: a commit does not wait for the disk. The acknowledgement does, without blocking the thread.
  database.exec(settingsFor(Math.floor(maxBytes / pragmaNumber(database, 'page_size')), 'NORMAL'))
}

const OWNER_ONLY_FOLDER = 0o700
const OWNER_ONLY_FILE = 0o600
const OTHERS = 0o077

/**
 * Makes sure that `file` is a regular file. A new one is empty and readable only by the owner.
 *
 * An existing file is not opened here: closing a descriptor would drop the locks of other connections in this
 * process (https://sqlite.org/howtocorrupt.html, 2.2).
 */
function prepareLocation(file: string): void {
  makeFolder(dirname(file), OWNER_ONLY_FOLDER)
  for (const path of filesOf(file)) refuseSpecialFile(path)
  refuseLogAlone(file)
  if (!statusOf(file)) createEmpty(file)
}

/** Called for an open store. SQLite gives files that it creates later the same mode. */
function restrictToOwner(file: string): void {
  if (process.platform === 'win32') return
  for (const path of filesOf(file)) {
    const mode = statusOf(path)?.mode ?? OWNER_ONLY_FILE
    if ((mode & OTHERS) !== 0) chmodSync(path, OWNER_ONLY_FILE)
  }
}

function refuseSpecialFile(path: string): void {
  const status = statusOf(path)
  if (!status || status.isFile()) return
  const what = status.isSymbolicLink() ? 'a symbolic link' : 'not a regular file'
  const message = `The store was not opened: ${path} is ${what}. Remove it, or use the path of the file itself.`
  throw storeError('link', message, { data: { path } })
}

/**
 * For such a file SQLite would start a new database and remove the log. The log is checked first, because the file is
 * always created before it.
 */
function refuseLogAlone(file: string): void {
  const log = `${file}-wal`
  if (!statusOf(log)?.size || statusOf(file)?.size) return
  const cure = `Restore the file, or move ${log} away to start with an empty store.`
  const message = `The store ${file} is empty or missing, but its log exists. Nothing was changed. ${cure}`
  throw storeError('corrupt', message, { data: { file } })
}

/** Exclusive, so that it follows no link and truncates nothing. Another process may create the same file first. */
function createEmpty(file: string): void {
  try {
    closeSync(openSync(file, 'wx', OWNER_ONLY_FILE))
    // A mark that is left belongs to a removed store.
    rmSync(markFile(file), { force: true })
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'EEXIST') throw error
  }
}

/** The database, the files of SQLite next to it, and the mark of the audit. */
const filesOf = (file: string): readonly string[] =>
  [file, `${file}-wal`, `${file}-shm`, `${file}-journal`, markFile(file)]

const statusOf = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false })
