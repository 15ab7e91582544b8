import { setTimeout as pause } from 'node:timers/promises'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { storeError, type StoreFaultReason } from '../records/stored-record.ts'
import { LockWait, MOVED, LOCK_WAIT_MS } from './database-file.ts'

interface Explanation {
  readonly reason: StoreFaultReason
  readonly what: string
  readonly cure: string
}

const busy: Explanation = {
  reason: 'busy', what: `has been held by another process for more than ${LOCK_WAIT_MS / 1_000} s`, cure: 'Try again, or end the process that keeps it',
}
const location: Explanation = {
  reason: 'location', what: 'cannot be opened for writing', cure: 'Check the permissions of the file and of its folder; to look at one on a disk that is read-only, copy it with the files beside it',
}
const moved: Explanation = {
  reason: 'location', what: 'was removed or moved away while it was in use', cure: 'Put it back, with the files beside it, or start the host again to begin anew',
}
const corrupt: Explanation = {
  reason: 'corrupt', what: 'is damaged or not a store at all',
  cure: 'It was not changed: close every host, move it away with its companion files, and restore a backup or start with an empty store',
}
const full: Explanation = {
  reason: 'full', what: 'is full: it has reached maxBytes, or its disk has no room left',
  cure: 'Free the disk, raise maxBytes, or archive what is old of the audit (bulkhead audit archive FILE); nothing is dropped for room',
}
const disk: Explanation = { reason: 'disk', what: 'could not be read or written', cure: 'Check the disk, and whether there is room on it' }

/**
 * By the primary result code of SQLite, or one that says more (https://sqlite.org/rescode.html). 1 and 19: what is asked is always the same, so a table that is not
 * there, or a place that is taken, is a file that has changed.
 */
const explanations: ReadonlyMap<number, Explanation> = new Map([
  [1, corrupt], [3, location], [5, busy], [6, busy], [8, location], [10, disk], [11, corrupt], [13, full], [14, location], [19, corrupt], [26, corrupt],
  [MOVED, moved],
])

/** Whatever went wrong with the file, as StoreUnavailable with its cure. Our own errors pass as they are. */
export function sqliteError(thrown: unknown, file: string): BulkheadError {
  if (BulkheadError.is(thrown)) return thrown
  const { reason, what, cure } = explanations.get(extendedCode(thrown)) ?? explanations.get(resultCode(thrown)) ?? (isSystemError(thrown) ? location : disk)
  return storeError(reason, `The store ${file} ${what} (${messageOf(thrown)}). ${cure}.`, { cause: thrown, data: { file } })
}

export function isBusy(thrown: unknown): boolean {
  return explanations.get(resultCode(thrown)) === busy
}

export function isSystemError(thrown: unknown): thrown is NodeJS.ErrnoException {
  return thrown instanceof Error && 'syscall' in thrown
}

/** Extended codes carry the primary one in their lowest byte. */
const resultCode = (thrown: unknown): number => extendedCode(thrown) & 0xff

function extendedCode(thrown: unknown): number {
  const code = thrown instanceof Error && 'errcode' in thrown ? thrown.errcode : undefined
  return typeof code === 'number' ? code : 0
}

/** How long SQLite itself may wait for a lock. It blocks the thread meanwhile, so it is a blink; `retryWhileBusy` does the waiting. */
export const BLOCKING_WAIT_MS = 10
const LONGEST_PAUSE_MS = 8

/** Attempts again while another process holds the file, leaving the thread free in between. */
export async function retryWhileBusy<T>(attempt: () => T, hold = new LockWait()): Promise<T> {
  const deadline = performance.now() + hold.waitMs
  for (let longest = 1; ; longest = Math.min(longest * 2, LONGEST_PAUSE_MS)) {
    try {
      const result = attempt()
      hold.end()
      return result
    } catch (error) {
      if (!isBusy(error)) throw error
      if (performance.now() >= deadline) {
        hold.timedOut()
        throw error
      }
    }
    // Two that wait for each other's file must not wake in step.
    await pause(longest * Math.random())
  }
}
