import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { makeFolder } from '@bulkhead/kit/folders'

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
