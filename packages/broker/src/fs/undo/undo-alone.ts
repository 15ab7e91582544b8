import { hash } from 'node:crypto'
import { BulkheadError } from '@bulkhead/contract'
import { LockError, withFileLock } from '@bulkhead/kit/file-lock'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { lockBeside } from '../update-journal.ts'
import { undoChanges, type UndoParts } from './undo.ts'

/**
 * Undoes while no other host undoes in the same workspace, because an effect must be reverted once. What is left to undo
 * is read under the lock.
 */
export async function undoAlone(given: Json | undefined, parts: UndoParts): Promise<Json> {
  const { journal, workspace, call: { signal } } = parts
  const isDryRun = isJsonObject(given) && given['dryRun'] === true
  if (journal === undefined || isDryRun) return undoChanges(given, parts)
  try {
    const lock = lockBeside(journal, `undo-${hash('sha256', workspace)}`)
    return await withFileLock(lock, () => undoChanges(given, parts), { signal })
  } catch (error) {
    if (!(error instanceof LockError)) throw error
    if (!error.isBusy) throw new BulkheadError('StoreUnavailable', `Nothing was undone. ${error.message}`, { cause: error })
    const message = `Another process is undoing changes in "${workspace}". Wait until it has ended, then undo again.`
    throw new BulkheadError('ResourceBusy', message, { cause: error })
  }
}
