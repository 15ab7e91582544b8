import { close, fdatasync, open } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { BulkheadError } from '@bulkhead/contract'
import { FileIdentity, LockWait, LogIdentity } from './database-file.ts'
import { isBusy, isSystemError, retryWhileBusy, sqliteError } from './sqlite-error.ts'

// Descriptors, because Node ends the process when a FileHandle is garbage-collected, as in a store that was never
// closed.
const opened = promisify(open)
const synced = promisify(fdatasync)
const closed = promisify(close)

/**
 * Syncs the write-ahead log without blocking the thread. SQLite would block it in each commit. The log holds all
 * commits that are not in the database yet; a checkpoint syncs both (`synchronous = NORMAL`). The locks are on other
 * files, so closing the log drops none.
 */
class LogSync {
  readonly #log: string
  #descriptor: Promise<number> | undefined

  constructor(file: string) {
    this.#log = `${file}-wal`
  }

  /** Resolves when everything committed so far would survive a power loss. */
  async sync(): Promise<void> {
    this.#descriptor ??= opened(this.#log, 'r+')
    this.#descriptor.catch(() => {
      this.#descriptor = undefined
    })
    await synced(await this.#descriptor)
  }

  /** Contract: no sync is running. */
  async close(): Promise<void> {
    const descriptor = await this.#descriptor?.catch(() => undefined)
    this.#descriptor = undefined
    if (descriptor !== undefined) await closed(descriptor)
  }
}

/** Bounds how long one transaction blocks the thread and other processes. */
const MAX_BATCH = 512

interface Operation {
  readonly run: () => unknown
  readonly changes: boolean
  readonly resolve: (value: never) => void
  readonly reject: (error: BulkheadError) => void
}

type Result = { readonly value: unknown } | { readonly error: BulkheadError }

/**
 * Group commit: the operations of one event loop turn share one transaction, in their order, and so wait for the disk
 * once. Each promise settles once, and resolves only after the commit that made it durable.
 *
 *     enqueue ──▶ waiting ──(next turn)──▶ BEGIN IMMEDIATE · run each · COMMIT ──(disk, thread free)──▶ resolve each
 *                                             │ locked by another process: retry later
 *                                             └ failed: roll back and retry each half, until only the faulty one fails
 */
export class CommitQueue {
  readonly #database: DatabaseSync
  readonly #file: string
  readonly #lockWait: LockWait
  readonly #begin: StatementSync
  readonly #end: StatementSync
  readonly #log: LogSync
  readonly #identity: FileIdentity
  readonly #logIdentity: LogIdentity
  #waiting: Operation[] = []
  #draining: Promise<void> | undefined

  constructor(database: DatabaseSync, file: string, lockWait = new LockWait()) {
    this.#database = database
    this.#file = file
    this.#lockWait = lockWait
    this.#begin = database.prepare('BEGIN IMMEDIATE')
    this.#end = database.prepare('COMMIT')
    this.#log = new LogSync(file)
    this.#identity = new FileIdentity(file)
    this.#logIdentity = new LogIdentity(file)
  }

  /** Whether no operation is pending. */
  get idle(): boolean {
    return this.#draining === undefined
  }

  /**
   * `run` may be called again after a rollback. If it throws a BulkheadError, only this operation fails. A batch
   * without `changes` does not wait for the disk.
   */
  enqueue<T>(run: () => T, changes = true): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#waiting.push({ run, changes, resolve, reject })
    this.#draining ??= this.#drain()
    return promise
  }

  /** Resolves when no operation is pending. */
  async settled(): Promise<void> {
    await this.#draining
  }

  /** Waits for pending operations. */
  async close(): Promise<void> {
    await this.settled()
    await this.#log.close()
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await nextTurn()
      const batch = this.#waiting.slice(0, MAX_BATCH)
      this.#waiting = this.#waiting.slice(MAX_BATCH)
      await this.#commit(batch)
    }
    this.#draining = undefined
  }

  async #commit(batch: readonly Operation[]): Promise<void> {
    let results: readonly Result[]
    try {
      results = await retryWhileBusy(() => this.#transact(batch), this.#lockWait)
      if (batch.some(({ changes }) => changes)) await this.#log.sync()
      this.#identity.check()
      this.#logIdentity.check()
    } catch (error) {
      if (batch.length > 1 && !isBusy(error) && !isSystemError(error)) {
        const middle = batch.length >> 1
        await this.#commit(batch.slice(0, middle))
        await this.#commit(batch.slice(middle))
        return
      }
      const fault = sqliteError(error, this.#file)
      results = batch.map(() => ({ error: fault }))
    }
    for (const [index, operation] of batch.entries()) settle(operation, results[index] as Result)
  }

  #transact(batch: readonly Operation[]): readonly Result[] {
    this.#begin.run()
    try {
      const results = batch.map(resultOf)
      this.#end.run()
      return results
    } catch (error) {
      // After some failures, such as a full disk, SQLite has already rolled back.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
  }
}

function resultOf({ run }: Operation): Result {
  try {
    return { value: run() }
  } catch (error) {
    if (BulkheadError.is(error)) return { error }
    throw error
  }
}

function settle({ resolve, reject }: Operation, result: Result): void {
  if ('error' in result) reject(result.error)
  else resolve(result.value as never)
}
