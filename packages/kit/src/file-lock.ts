import { closeSync, existsSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { errorCode, messageOf } from './error-message.ts'
import { makeFolder } from './folders.ts'

export interface LockOptions {
  /** How long to wait for another holder. Default: 10 s. */
  readonly waitMs?: number
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined
}

const WAIT_MS = 10_000
const RETRY_MS = 20
const SQLITE_BUSY = 5
const OWNER_ONLY = 0o600

/** The work did not begin: another process held the lock for too long, or its file cannot be used. */
export class LockError extends Error {
  override readonly name = 'LockError'
  readonly isBusy: boolean

  constructor(file: string, cause?: unknown) {
    const isBusy = cause === undefined
    super(isBusy ? `Another process uses ${file}.` : `The lock ${file} cannot be used: ${messageOf(cause)}`, { cause })
    this.isBusy = isBusy
  }
}

/**
 * Runs `work` while no other process, and nothing else in this one, runs under the lock of this file. What the lock
 * protects must be read inside `work`: another holder may have changed it. The file stays, and nothing is written to it.
 * A missing folder is created for this user only. Rejects with LockError if the work did not begin.
 */
export async function withFileLock<Value>(
  file: string, work: () => Value | Promise<Value>, { waitMs = WAIT_MS, signal }: LockOptions = {},
): Promise<Value> {
  const until = performance.now() + waitMs
  let release = tryFileLock(file)
  while (release === undefined) {
    if (performance.now() >= until) throw new LockError(file)
    await delay(RETRY_MS, undefined, { signal })
    release = tryFileLock(file)
  }
  try {
    return await work()
  } finally {
    release()
  }
}

/** Takes the lock at once, for work without an await. Returns its release; undefined if it is taken. Throws LockError. */
export function tryFileLock(file: string): (() => void) | undefined {
  try {
    create(file)
    return lock(file)
  } catch (error) {
    throw new LockError(file, error)
  }
}

/** An existing file is not opened: closing a descriptor would drop the locks that this process has on it. */
function create(file: string): void {
  if (existsSync(file)) return
  makeFolder(dirname(file), 0o700)
  try {
    closeSync(openSync(file, 'wx', OWNER_ONLY))
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  }
}

/**
 * Takes the lock of an empty SQLite database, and returns its release; undefined if it is taken. The system releases it
 * when its process ends, however it ends: unlike a file with a process id, it cannot be left behind.
 */
function lock(file: string): (() => void) | undefined {
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    // No journal on disk: a lock must work on a full disk.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return () => database.close()
  } catch (error) {
    database.close()
    if ((error as { readonly errcode?: number }).errcode === SQLITE_BUSY) return undefined
    throw error
  }
}
