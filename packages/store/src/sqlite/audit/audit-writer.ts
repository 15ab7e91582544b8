import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Worker } from 'node:worker_threads'
import type { AdoptedRecords } from '@bulkhead/contract'
import { ThreadImage } from '@bulkhead/kit/thread-image'
import { adoptedEnd, archiveRecord } from '../../records/audit-group.ts'
import { AuditMark, AuditEnd, ChainPoint, type AuditDraft, type ChainPosition } from '../../records/audit-chain.ts'
import { storeError } from '../../records/stored-record.ts'
import type { CommitQueue } from '../commit-queue.ts'
import { LOCK_WAIT_MS } from '../database-file.ts'
import { pragmaNumber } from '../schema.ts'
import { sqliteError } from '../sqlite-error.ts'
import type { Answer, ThreadStart } from './audit-worker.ts'

interface Pending {
  readonly resolve: (position: number) => void
  readonly reject: (error: unknown) => void
}

/** The code of the audit thread. The host loads it early, because the thread starts under load. */
export const auditThread = new ThreadImage(new URL('./audit-worker.ts', import.meta.url))

/**
 * Writes to the audit in a separate thread with its own connection, so that hashing, commits and disk waits do not
 * block the host. Answers come in the order of the drafts.
 */
export class AuditThread {
  readonly #file: string
  readonly #worker: Worker
  readonly #exited: Promise<void>
  readonly #pending: Pending[] = []
  #idle: PromiseWithResolvers<void> | undefined
  #state: 'starting' | 'ready' | 'ended' = 'starting'

  /** Throws if no thread can be started. */
  constructor(file: string, maxPages: number, image = auditThread, lockWaitMs = LOCK_WAIT_MS) {
    this.#file = file
    this.#worker = image.start({ file, maxPages, lockWaitMs } satisfies ThreadStart, {
      name: 'bulkhead audit', env: {},
      // A thread that shares standard output makes the pipes of the process non-blocking.
      stdout: true, stderr: true,
    })
    this.#worker.unref()
    this.#worker.on('message', (answer: Answer) => this.#onAnswer(answer))
    let reason: unknown = 'it ended'
    this.#worker.on('error', (error) => void (reason = error))
    this.#exited = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.#end(reason)
        resolve()
      })
    })
  }

  get ready(): boolean {
    return this.#state === 'ready'
  }

  /** Whether everything that was added is settled. */
  get isIdle(): boolean {
    return this.#pending.length === 0
  }

  /** Contract: the thread is ready. Resolves with the position of the last record when it is on disk. */
  add(draft: AuditDraft): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    if (this.#pending.push({ resolve, reject }) === 1) this.#worker.ref()
    this.#worker.postMessage(draft)
    return promise
  }

  /** Resolves when everything that was added is settled. */
  async settled(): Promise<void> {
    if (this.isIdle) return
    this.#idle ??= Promise.withResolvers<void>()
    await this.#idle.promise
  }

  /** Waits until everything that was added is settled. */
  async close(): Promise<void> {
    await this.settled()
    if (this.#state === 'ended') return
    this.#worker.ref()
    this.#worker.postMessage('close')
    await this.#exited
  }

  #onAnswer(answer: Answer): void {
    if (answer === 'ready') {
      this.#state = 'ready'
      return
    }
    const pending = this.#pending.shift()
    if ('position' in answer) pending?.resolve(answer.position)
    else pending?.reject(sqliteError(Object.assign(new Error(answer.message), { errcode: answer.errcode }), this.#file))
    if (this.isIdle) this.#becomeIdle()
  }

  #becomeIdle(): void {
    this.#worker.unref()
    this.#idle?.resolve()
    this.#idle = undefined
  }

  /** Unanswered writes may or may not be stored. Callers must treat them as lost. */
  #end(reason: unknown): void {
    this.#state = 'ended'
    const message = `The thread that writes the audit of ${this.#file} has ended: ${String(reason)}.`
    const fault = storeError('disk', message, { cause: reason })
    for (const { reject } of this.#pending.splice(0)) reject(fault)
    this.#becomeIdle()
  }
}

/** The start of the chain, after the last archived record. */
class AuditStart {
  readonly #point: ChainPoint
  readonly #group: StatementSync
  readonly #next: StatementSync
  readonly #delete: StatementSync

  constructor(database: DatabaseSync) {
    this.#point = new ChainPoint(database, 'audit_start')
    this.#group = database.prepare('SELECT link FROM audit WHERE position <= ? ORDER BY position DESC LIMIT 1')
    this.#next = database.prepare(`
      SELECT coalesce(
        (SELECT min(position) FROM audit WHERE position > ?), (SELECT position + 1 FROM audit_end)
      ) AS position`)
    this.#delete = database.prepare('DELETE FROM audit WHERE position <= ?')
  }

  /** The last archived record. */
  read(): ChainPosition {
    return this.#point.read()
  }

  begin(start: ChainPosition): void {
    this.#point.move(start)
  }

  /**
   * Removes the records up to `last`. Contract: call within a transaction. Throws StoreUnavailable before any change.
   */
  removeUpTo(last: ChainPosition): void {
    const { position, link } = last
    // Records that were written together share a link, so they are removed together.
    const isEndOfRow = Number(this.#next.get(position)?.['position']) === position + 1
    if (this.#group.get(position)?.['link'] !== link || !isEndOfRow) {
      const message = `The audit has no record ${position} with that link. It may have been archived before.`
      throw storeError('refused-value', `${message} Nothing was removed.`)
    }
    this.#delete.run(position)
    this.#point.move(last)
  }
}

/** The batch size that starts a thread. Starting one takes memory, and as long as writing thousands of records. */
const THREAD_THRESHOLD = 128

/**
 * Writes the audit: through the commit queue at first, and in a separate thread once batches become large. Never both
 * at once, so that records keep their order.
 */
export class AuditWriter {
  readonly #database: DatabaseSync
  readonly #file: string
  readonly #queue: CommitQueue
  readonly #start: AuditStart
  readonly #end: AuditEnd
  readonly #mark: AuditMark
  #thread: AuditThread | 'none' | undefined
  /** The number of pending drafts in the commit queue. */
  #queued = 0
  /** The last position that the commit queue assigned. */
  #latest = 0

  constructor(database: DatabaseSync, file: string, queue: CommitQueue) {
    this.#database = database
    this.#file = file
    this.#queue = queue
    this.#start = new AuditStart(database)
    this.#end = new AuditEnd(database)
    this.#mark = new AuditMark(file)
  }

  /** Resolves with the position of the last record. */
  async add(draft: AuditDraft): Promise<number> {
    if (draft.count >= THREAD_THRESHOLD) this.#thread ??= this.#startThread()
    const thread = this.#ready
    return thread && this.#queued === 0 ? thread.add(draft) : this.#enqueue(() => draft)
  }

  /**
   * Removes the records up to `last`, and adds a record that documents it. Resolves with the position of that record.
   */
  async archive(last: ChainPosition, by: string): Promise<number> {
    // Once the thread is idle, `#queued` sends all drafts to the queue.
    while (this.#ready?.isIdle === false) await this.settled()
    return this.#enqueue(() => {
      const text = archiveRecord(this.#start.read().position + 1, last, by)
      this.#start.removeUpTo(last)
      return { text, digested: [], count: 1 }
    })
  }

  /** Adds rows of another store. An audit that is empty starts after `start`. */
  adopt(start: ChainPosition, rows: readonly AdoptedRecords[]): Promise<void> {
    return this.#queue.enqueue(() => {
      const end = this.#end.read()
      const from = end.position === 0 ? start : end
      const last = adoptedEnd(from, rows)
      if (end.position === 0) this.#start.begin(start)
      this.#end.addAll(rows, last)
    })
  }

  async #enqueue(draft: () => AuditDraft): Promise<number> {
    this.#queued++
    try {
      const end = await this.#queue.enqueue(() => this.#place(draft()))
      // Several drafts may share a commit. Only the last one is recorded.
      if (end.position === this.#latest) this.#mark.note(end)
      return end.position
    } finally {
      this.#queued--
    }
  }

  /** The last archived record. */
  start(): ChainPosition {
    return this.#start.read()
  }

  /** The last record. Contract: call within a transaction, or when all drafts are settled. */
  end(): ChainPosition {
    return this.#end.read()
  }

  /** Whether the separate thread writes. */
  get isThreaded(): boolean {
    return this.#ready !== undefined
  }

  /** Resolves when the thread has written all its drafts. */
  async settled(): Promise<void> {
    await this.#ready?.settled()
  }

  async close(): Promise<void> {
    if (this.#thread !== 'none') await this.#thread?.close()
    await this.#queue.settled()
    this.#mark.close()
  }

  #place(draft: AuditDraft): ChainPosition {
    const end = this.#end.add(draft)
    this.#latest = end.position
    return end
  }

  get #ready(): AuditThread | undefined {
    return this.#thread === undefined || this.#thread === 'none' || !this.#thread.ready ? undefined : this.#thread
  }

  /** Tried once. If the thread cannot be started, or ends, the commit queue writes the audit. */
  #startThread(): AuditThread | 'none' {
    try {
      return new AuditThread(this.#file, pragmaNumber(this.#database, 'max_page_count'))
    } catch {
      return 'none'
    }
  }
}
