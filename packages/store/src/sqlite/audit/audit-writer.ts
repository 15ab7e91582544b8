import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { archiveRecord } from '../../records/audit-group.ts'
import { AuditMark, AuditEnd, ChainPoint, type AuditDraft, type ChainEnd } from '../../records/audit-chain.ts'
import { storeError } from '../../records/stored-record.ts'
import type { CommitQueue } from '../commit-queue.ts'
import { pragmaNumber } from '../schema.ts'
import { AuditThread } from './audit-thread.ts'

/** Where the chain begins: behind the last record that was taken out of it. */
class AuditStart {
  readonly #point: ChainPoint
  readonly #group: StatementSync
  readonly #next: StatementSync
  readonly #delete: StatementSync

  constructor(database: DatabaseSync) {
    this.#point = new ChainPoint(database, 'audit_start')
    this.#group = database.prepare('SELECT link FROM audit WHERE position <= ? ORDER BY position DESC LIMIT 1')
    this.#next = database.prepare(
      'SELECT coalesce((SELECT min(position) FROM audit WHERE position > ?), (SELECT position + 1 FROM audit_end)) AS position',
    )
    this.#delete = database.prepare('DELETE FROM audit WHERE position <= ?')
  }

  /** What the first record continues. */
  read(): ChainEnd {
    return this.#point.read()
  }

  /** Contract: within a transaction of the caller's. Throws StoreUnavailable, having changed nothing. */
  takeOut(last: ChainEnd): void {
    const { position, link } = last
    // What was written together has one link, and is kept or taken out together.
    if (this.#group.get(position)?.['link'] !== link || Number(this.#next.get(position)?.['position']) !== position + 1) {
      throw storeError('refused-value', `No records of the audit end at ${position} with that link: they were taken out before, or were never there. Nothing was taken out.`)
    }
    this.#delete.run(position)
    this.#point.move(last)
  }
}

/** So many records at once are worth a thread: it costs some memory, and as much time to start as to write thousands of them. */
const WORTH_A_THREAD = 128

/**
 * Who writes the audit: this thread, as one of the things its queue does, until there is much to write. From then on a thread of its own
 * does all of it. Never both at once, so that records keep their order.
 */
export class AuditWriter {
  readonly #database: DatabaseSync
  readonly #file: string
  readonly #queue: CommitQueue
  readonly #start: AuditStart
  readonly #end: AuditEnd
  readonly #mark: AuditMark
  #thread: AuditThread | 'none' | undefined
  /** Drafts that this thread has not settled. */
  #here = 0
  /** The last of them that was given a place. */
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
    if (draft.count >= WORTH_A_THREAD) this.#thread ??= this.#startThread()
    const thread = this.#ready
    return thread && this.#here === 0 ? thread.add(draft) : this.#addHere(() => draft)
  }

  /** Takes out what stands up to there, and adds the record that says so. Resolves with its position. */
  async archive(last: ChainEnd, by: string): Promise<number> {
    // From the moment that the thread has nothing left to write, this one does it all.
    while (this.#ready?.isIdle === false) await this.settled()
    return this.#addHere(() => {
      const text = archiveRecord(this.#start.read().position + 1, last, by)
      this.#start.takeOut(last)
      return { text, digested: [], count: 1 }
    })
  }

  async #addHere(draft: () => AuditDraft): Promise<number> {
    this.#here++
    try {
      const end = await this.#queue.enqueue(() => this.#place(draft()))
      // Of those that share a commit, the last.
      if (end.position === this.#latest) this.#mark.note(end)
      return end.position
    } finally {
      this.#here--
    }
  }

  /** What the first record continues. */
  start(): ChainEnd {
    return this.#start.read()
  }

  /** Where the chain ends. Contract: within a transaction, or when all is settled. */
  end(): ChainEnd {
    return this.#end.read()
  }

  /** Whether a thread of its own writes. */
  get isThreaded(): boolean {
    return this.#ready !== undefined
  }

  /** Resolves when all that the thread was given is there. */
  async settled(): Promise<void> {
    await this.#ready?.settled()
  }

  async close(): Promise<void> {
    if (this.#thread !== 'none') await this.#thread?.close()
    await this.#queue.settled()
    this.#mark.close()
  }

  #place(draft: AuditDraft): ChainEnd {
    const end = this.#end.add(draft)
    this.#latest = end.position
    return end
  }

  get #ready(): AuditThread | undefined {
    return this.#thread === undefined || this.#thread === 'none' || !this.#thread.ready ? undefined : this.#thread
  }

  /** Once: where it cannot be started, or has ended, this thread goes on alone. */
  #startThread(): AuditThread | 'none' {
    try {
      return new AuditThread(this.#file, pragmaNumber(this.#database, 'max_page_count'))
    } catch {
      return 'none'
    }
  }
}
