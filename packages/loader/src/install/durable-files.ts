import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { makeFolder } from '@bulkhead/kit/folders'

/** Replaces a file atomically: readers find the old or the new content, also after a crash. */
export function writeAtomically(path: string, text: string): void {
  const temporary = `${path}.${crypto.randomUUID()}.tmp`
  try {
    writeDurably(temporary, Buffer.from(text))
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncFolder(dirname(path))
}

/** Creates a file and syncs it. Does not follow links or replace files. */
export function writeDurably(path: string, bytes: Uint8Array): void {
  const descriptor = openSync(path, 'wx', 0o644)
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Syncs the entries of a folder. Some systems cannot open folders. */
export function syncFolder(path: string): void {
  let descriptor: number
  try {
    descriptor = openSync(path, 'r')
  } catch {
    return
  }
  try {
    fsyncSync(descriptor)
  } catch {
    // Some file systems do not support this for folders.
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Takes an exclusive lock and returns its release. Uses the lock of an empty SQLite database, which the system releases when a process
 * dies, unlike a file with a process id. Throws InstallBusy.
 */
export function claimExclusively(path: string, waitMs = 10_000): () => void {
  let database: DatabaseSync | undefined
  try {
    makeFolder(dirname(path))
    database = new DatabaseSync(path, { timeout: waitMs })
    // No journal on disk: uninstalling must work on a full disk.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    database?.close()
    if (/locked|busy/i.test(messageOf(error))) throw new BulkheadError('InstallBusy', `Another process is installing below ${dirname(path)}.`, { cause: error })
    throw new BulkheadError('InstallFailed', `${path} cannot be opened: ${messageOf(error)}`, { cause: error })
  }
  const held = database
  return () => held.close()
}
