import { chmodSync, closeSync, lstatSync, mkdirSync, openSync, statSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from '@bulkhead/contract/plain'
import { storeFault } from '../store-fault.ts'
import { isSystemError } from './sqlite-fault.ts'

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
  makeFolder(dirname(file), { mkdirSync, statSync, dirname }, OWNER_ONLY_FOLDER)
  for (const path of filesOf(file)) refuseAllButPlainFiles(path)
  if (!statusOf(file)) createEmpty(file)
}

/** Called once the file is known to be a store, and open. Files beside it that come later get its mode from SQLite. */
export function keepFromOthers(file: string): void {
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
  throw storeFault('link', message, { data: { path } })
}

/** Exclusive, so that it follows no link and empties nothing; whoever was quicker made the same file. */
function createEmpty(file: string): void {
  try {
    closeSync(openSync(file, 'wx', OWNER_ONLY_FILE))
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'EEXIST') throw error
  }
}

/** The store, and what SQLite keeps beside it. */
const filesOf = (file: string): readonly string[] => [file, `${file}-wal`, `${file}-shm`, `${file}-journal`]

const statusOf = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false })
