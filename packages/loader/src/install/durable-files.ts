import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { makeFolder } from '@bulkhead/kit/folders'

/** Replaces a file as a whole: whoever reads it, now or after a crash, finds the old text or the new one. */
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

/** A new file, on the disk when this returns. Never follows a link and never replaces anything. */
export function writeDurably(path: string, bytes: Uint8Array): void {
  const descriptor = openSync(path, 'wx', 0o644)
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Makes the names in a folder durable. Systems that cannot open folders keep them by other means. */
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
    // Some file systems refuse this for folders.
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Keeps other processes out until what it returns is called. The system itself forgets the claim of a process that died, which no file
 * with a number in it does: an empty database whose lock is held. Throws InstallBusy.
 */
export function claimExclusively(path: string, waitMs = 10_000): () => void {
  let database: DatabaseSync | undefined
  try {
    makeFolder(dirname(path))
    database = new DatabaseSync(path, { timeout: waitMs })
    // Without a journal on the disk, which may be full: to take something away must not need room.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    database?.close()
    if (/locked|busy/i.test(messageOf(error))) throw new BulkheadError('InstallBusy', `Another process is installing below ${dirname(path)}.`, { cause: error })
    throw new BulkheadError('InstallFailed', `${path} cannot be opened: ${messageOf(error)}`, { cause: error })
  }
  const held = database
  return () => held.close()
}
