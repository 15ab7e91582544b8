import { setTimeout as pause } from 'node:timers/promises'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { storeError, type StoreFaultReason } from '../records/stored-record.ts'
import { DATABASE_MOVED, LOCK_WAIT_MS, LockWait } from './database-file.ts'

interface Explanation {
  readonly reason: StoreFaultReason
  readonly what: string
  readonly cure: string
}

const busy: Explanation = {
  reason: 'busy',
  what: `has been locked by another process for more than ${LOCK_WAIT_MS / 1_000} s`,
  cure: 'Try again, or end that process',
}
const location: Explanation = {
  reason: 'location',
  what: 'cannot be opened for writing',
  cure: 'Check the permissions of the file and its folder. '
    + 'To read a store on a read-only disk, copy it with its companion files',
}
const moved: Explanation = {
  reason: 'location',
  what: 'was removed or moved while it was in use',
  cure: 'Restore it with its companion files, or restart the host to create an empty store',
}
const corrupt: Explanation = {
  reason: 'corrupt',
  what: 'is damaged or not a store',
  cure: 'It was not changed. Close all hosts, move it away with its companion files, '
    + 'and restore a backup or start with an empty store',
}
const full: Explanation = {
  reason: 'full',
  what: 'is full: it has reached its limit, or the disk has no room left',
  cure: 'Free disk space, raise maxBytes, or archive old audit records (bulkhead audit archive FILE)',
}
const disk: Explanation = {
  reason: 'disk', what: 'could not be read or written', cure: 'Check the disk and its free space',
}

/**
 * By primary or extended result code of SQLite (https://sqlite.org/rescode.html). The statements are fixed, so 1
 * (missing table) and 19 (constraint) mean that the file was changed from outside.
 */
const explanations: ReadonlyMap<number, Explanation> = new Map([
  [1, corrupt], [3, location], [5, busy], [6, busy], [8, location], [10, disk], [11, corrupt], [13, full],
  [14, location], [19, corrupt], [26, corrupt], [DATABASE_MOVED, moved],
])

/**
 * Turns any error into StoreUnavailable with its cure. A BulkheadError is returned as it is. `cures` replaces the cures
 * that do not apply to this file.
 */
export function sqliteError(
  thrown: unknown, file: string, cures: Partial<Record<StoreFaultReason, string>> = {},
): BulkheadError {
  if (BulkheadError.is(thrown)) return thrown
  const known = explanations.get(extendedCode(thrown)) ?? explanations.get(resultCode(thrown))
  const { reason, what, cure } = known ?? (isSystemError(thrown) ? location : disk)
  const message = `The store ${file} ${what} (${messageOf(thrown)}). ${cures[reason] ?? cure}.`
  return storeError(reason, message, { cause: thrown, data: { file } })
}

export function isBusy(thrown: unknown): boolean {
  return explanations.get(resultCode(thrown)) === busy
}

export function isSystemError(thrown: unknown): thrown is NodeJS.ErrnoException {
  return thrown instanceof Error && 'syscall' in thrown
}

/** Extended codes contain the primary one in their lowest byte. */
const resultCode = (thrown: unknown): number => extendedCode(thrown) & 0xff

function extendedCode(thrown: unknown): number {
  const code = thrown instanceof Error && 'errcode' in thrown ? thrown.errcode : undefined
  return typeof code === 'number' ? code : 0
}

/** How long SQLite may wait for a lock. Short, because it blocks the thread; `retryWhileBusy` waits longer. */
const BLOCKING_WAIT_MS = 10
export const CONNECTION = { timeout: BLOCKING_WAIT_MS, allowExtension: false, defensive: true }
const MAX_PAUSE_MS = 8

/** Retries with backoff while another process locks the file. Does not block the thread. */
export async function retryWhileBusy<T>(attempt: () => T, lockWait = new LockWait()): Promise<T> {
  const deadline = performance.now() + lockWait.waitMs
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    try {
      const result = attempt()
      lockWait.end()
      return result
    } catch (error) {
      if (!isBusy(error)) throw error
      if (performance.now() >= deadline) {
        lockWait.timedOut()
        throw error
      }
    }
    // Random, so that two processes do not keep retrying at the same time.
    await pause(pauseMs * Math.random())
  }
}
