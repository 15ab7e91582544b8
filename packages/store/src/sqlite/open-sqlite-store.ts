import { chmodSync, closeSync, lstatSync, openSync, rmSync, type Stats } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { BulkheadError, requireOptions, type Store } from '@bulkhead/contract'
import { makeFolder } from '@bulkhead/kit/folders'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { AuditEnd, CHAIN_START, markFile, readMark, type ChainEnd } from '../records/audit-chain.ts'
import { storeError } from '../records/stored-record.ts'
import { settingsFor } from './database-file.ts'
import { migrate, pragmaNumber, refuseForeignFile } from './schema.ts'
import { BLOCKING_WAIT_MS, isSystemError, retryWhileBusy, sqliteError } from './sqlite-error.ts'
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
    return await retryWhileBusy(() => open(file, maxBytes))
  } catch (error) {
    throw sqliteError(error, file)
  }
}

/** Contract: leaves nothing open when it throws. */
function open(file: string, maxBytes: number): Store {
  refuseLostAudit(file)
  const database = new DatabaseSync(file, { timeout: BLOCKING_WAIT_MS, allowExtension: false, defensive: true })
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
 * Throws for a store that has not got what it acknowledged. Contract: changes nothing. Over a connection that cannot write, since one
 * that can writes the log back when it is closed, as far as it can be read, and removes it.
 */
function refuseLostAudit(file: string): void {
  // Read the mark before the store: writers record only what is already stored.
  const mark = readMark(file)
  if (mark === undefined) return
  const end = endOf(file)
  if (end.position > mark.position || (end.position === mark.position && end.link === mark.link)) return
  const why = 'Its log was damaged or removed, or an older copy was put in its place'
  const cure = `Nothing was changed: restore a backup with its companion files, or remove ${markFile(file)} to continue with the current content`
  throw storeError(
    'corrupt', `The store ${file} is not whole: its audit had come to record ${mark.position}, and ends at ${end.position}. ${why}. ${cure}.`,
    { data: { file, acknowledged: mark.position, last: end.position } },
  )
}

function endOf(file: string): ChainEnd {
  using database = new DatabaseSync(file, { readOnly: true, timeout: BLOCKING_WAIT_MS, allowExtension: false, defensive: true })
  refuseForeignFile(database, file)
  const isBlank = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'audit_end'").get() === undefined
  return isBlank ? { position: 0, link: CHAIN_START } : new AuditEnd(database).read()
}

/** How a connection works on the file. All but the log are settings of the connection and made each time. */
export function applySettings(database: DatabaseSync, file: string, maxBytes: number): void {
  const journal = database.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode']
  if (journal !== 'wal') {
    const message = `The store ${file} is on a disk that cannot keep its log. Put it on a local disk.`
    throw storeError('location', message, { data: { file } })
  }
  // NORMAL: a commit does not wait for the disk. The acknowledgement does, without blocking the thread.
  database.exec(settingsFor(Math.floor(maxBytes / pragmaNumber(database, 'page_size')), 'NORMAL'))
}

const OWNER_ONLY_FOLDER = 0o700
const OWNER_ONLY_FILE = 0o600
const OTHERS = 0o077

/**
 * Makes sure that a plain file of the owner's alone is at `file`, empty when it is new.
 *
 * A file that exists is never opened here: closing any descriptor of it would drop the locks that another connection of
 * this process holds on it (https://sqlite.org/howtocorrupt.html, 2.2).
 */
function prepareLocation(file: string): void {
  makeFolder(dirname(file), OWNER_ONLY_FOLDER)
  for (const path of filesOf(file)) refuseAllButPlainFiles(path)
  refuseLogAlone(file)
  if (!statusOf(file)) createEmpty(file)
}

/** Called once the file is known to be a store, and open. Files beside it that come later get its mode from SQLite. */
function restrictToOwner(file: string): void {
  if (process.platform === 'win32') return
  for (const path of filesOf(file)) {
    const mode = statusOf(path)?.mode ?? OWNER_ONLY_FILE
    if ((mode & OTHERS) !== 0) chmodSync(path, OWNER_ONLY_FILE)
  }
}

function refuseAllButPlainFiles(path: string): void {
  const status = statusOf(path)
  if (!status || status.isFile()) return
  const what = status.isSymbolicLink() ? 'a symbolic link' : 'not a plain file'
  const message = `The store was not opened: ${path} is ${what}. Remove it, or name the place of the file itself.`
  throw storeError('link', message, { data: { path } })
}

/** SQLite would take the file for a new one and remove the log. No log is written before its file, so the log is looked at first. */
function refuseLogAlone(file: string): void {
  const log = `${file}-wal`
  if (!statusOf(log)?.size || statusOf(file)?.size) return
  const message = `The store ${file} is empty or missing, but its log exists. Nothing was changed: restore the file, or move ${log} away to start with an empty store.`
  throw storeError('corrupt', message, { data: { file } })
}

/** Exclusive, so that it follows no link and truncates nothing. If another process was faster, it created the same file. */
function createEmpty(file: string): void {
  try {
    closeSync(openSync(file, 'wx', OWNER_ONLY_FILE))
    // It speaks of one that was taken away.
    rmSync(markFile(file), { force: true })
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'EEXIST') throw error
  }
}

/** The store, what SQLite keeps beside it, and how far the audit had come. */
const filesOf = (file: string): readonly string[] => [file, `${file}-wal`, `${file}-shm`, `${file}-journal`, markFile(file)]

const statusOf = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false })
