import { chmodSync, closeSync, lstatSync, openSync, rmSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from '@bulkhead/kit/folders'
import { markFile } from '../records/audit-chain.ts'
import { storeError } from '../records/stored-record.ts'
import { isSystemError } from './sqlite-error.ts'

const OWNER_ONLY_FOLDER = 0o700
const OWNER_ONLY_FILE = 0o600
const OTHERS = 0o077

/**
 * Makes sure that `file` is a regular file. A new one is empty and readable only by the owner.
 *
 * An existing file is not opened here: closing a descriptor would drop the locks of other connections in this
 * process (https://sqlite.org/howtocorrupt.html, 2.2).
 */
export function prepareLocation(file: string): void {
  makeFolder(dirname(file), OWNER_ONLY_FOLDER)
  for (const path of filesOf(file)) refuseSpecialFile(path)
  refuseLogAlone(file)
  refuseJournal(file)
  if (!statusOf(file)) createEmpty(file)
}

/** Called for an open store. SQLite gives files that it creates later the same mode. */
export function restrictToOwner(file: string): void {
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

/**
 * A store has a write-ahead log instead. SQLite would write the pages of such a file into the store, and a command
 * could have made one.
 */
function refuseJournal(file: string): void {
  const journal = `${file}-journal`
  if (!statusOf(journal)?.size || !statusOf(file)?.size) return
  const message = `The store ${file} was not opened: it has a rollback journal, which no store in use writes. `
    + `Nothing was changed. Find out which program wrote ${journal}, and remove it.`
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
