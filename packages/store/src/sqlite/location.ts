import { chmodSync, closeSync, lstatSync, openSync, rmSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from '@bulkhead/kit/folders'
import { storeError } from '../records/stored-record.ts'
import { markFile } from './audit/audit-mark.ts'
import { isSystemError } from './sqlite-error.ts'

const OWNER_ONLY_FOLDER = 0o700
const OWNER_ONLY_FILE = 0o600
const OTHERS = 0o077

/**
 * Makes sure that a plain file of the owner's alone is at `file`, empty when it is new.
 *
 * A file that exists is never opened here: closing any descriptor of it would drop the locks that another connection of
 * this process holds on it (https://sqlite.org/howtocorrupt.html, 2.2).
 */
export function prepareLocation(file: string): void {
  makeFolder(dirname(file), OWNER_ONLY_FOLDER)
  for (const path of filesOf(file)) refuseAllButPlainFiles(path)
  refuseLogAlone(file)
  if (!statusOf(file)) createEmpty(file)
}

/** Called once the file is known to be a store, and open. Files beside it that come later get its mode from SQLite. */
export function restrictToOwner(file: string): void {
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
