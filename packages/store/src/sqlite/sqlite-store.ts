import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { AdoptedRecords, AuditEntry, AuditGroup, AuditSpan, Store, StoreCollection, StoredRecord } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import {
  auditPage, byKey, checkAddress, nameOf, readRecord, storeClosed, storedRecord, writeRecord,
} from '../records/stored-record.ts'
import { AuditPages, draftGroup } from '../records/audit-group.ts'
import { removeMark, type ChainPosition } from '../records/audit-chain.ts'
import { changesFile, SqliteChanges } from './sqlite-changes.ts'
import { AuditWriter } from './audit/audit-writer.ts'
import { CommitQueue } from './commit-queue.ts'
import { JournalFiles } from './journal-file.ts'
import { SqliteWork } from './work/work.ts'
import { isBusy, sqliteError } from './sqlite-error.ts'
import { FileIdentity, LogIdentity } from './database-file.ts'

/** How often calls look for the log: as often as the audit is written. Each commit does, too. */
const LOG_CHECK_MS = 25

/**
 * The durable store over an open and migrated database. Operations take effect in the order of the calls: a read after
 * a write sees it, awaited or not. A read of the audit under load may also see later records.
 */
export class SqliteStore implements Store {
  readonly files: readonly string[]
  readonly #database: DatabaseSync
  readonly #file: string
  readonly #identity: FileIdentity
  readonly #log: LogIdentity
  #logCheckedAt = -Infinity
  readonly #queue: CommitQueue
  readonly #select: StatementSync
  readonly #upsert: StatementSync
  readonly #delete: StatementSync
  readonly #scan: StatementSync
  readonly #audit: AuditWriter
  readonly #pages: AuditPages
  readonly #journals: JournalFiles
  readonly work: SqliteWork
  readonly changes: SqliteChanges
  #closing: Promise<void> | undefined

  constructor(database: DatabaseSync, file: string) {
    this.#database = database
    this.#file = file
    // Every file of a store has this name, or continues it with a hyphen.
    this.files = [file, `${file}-`]
    this.#identity = new FileIdentity(file)
    this.#log = new LogIdentity(file)
    this.#queue = new CommitQueue(database, file)
    this.#journals = new JournalFiles(file)
    this.work = new SqliteWork(database, file, this.#queue, this.#journals, (run) => this.#query(run))
    this.changes = new SqliteChanges(changesFile(file))
    this.#select = database.prepare('SELECT value FROM entry WHERE collection = ? AND key = ?')
    this.#upsert = database.prepare(
      'INSERT INTO entry VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
    )
    this.#delete = database.prepare('DELETE FROM entry WHERE collection = ? AND key = ?')
    this.#scan = database.prepare('SELECT key, value FROM entry WHERE collection = ? AND key >= ? ORDER BY key')
    this.#audit = new AuditWriter(database, file, this.#queue)
    this.#pages = new AuditPages(database)
  }

  async read(collection: StoreCollection, key: string): Promise<Json | undefined> {
    this.#check(collection, key)
    return this.#query(() => {
      const row = this.#select.get(collection, key)
      return row && readRecord(String(row['value']), nameOf(collection, key))
    })
  }

  async write(collection: StoreCollection, key: string, value: Json): Promise<void> {
    this.#check(collection, key)
    const text = writeRecord(value)
    await this.#queue.enqueue(() => this.#upsert.run(collection, key, text))
  }

  async remove(collection: StoreCollection, key: string): Promise<void> {
    this.#check(collection, key)
    await this.#queue.enqueue(() => this.#delete.run(collection, key))
  }

  async update(
    collection: StoreCollection, key: string, change: (value: Json | undefined) => Json | undefined,
  ): Promise<Json | undefined> {
    this.#check(collection, key)
    return this.#queue.enqueue(() => {
      const row = this.#select.get(collection, key)
      const before = row && String(row['value'])
      const next = change(before === undefined ? undefined : readRecord(before, nameOf(collection, key)))
      const text = next === undefined ? undefined : writeRecord(next)
      if (text === before) return next
      if (text === undefined) this.#delete.run(collection, key)
      else this.#upsert.run(collection, key, text)
      return next
    })
  }

  requireFiles(): void {
    this.#mustBeOpen()
    try {
      this.#identity.check()
      const now = performance.now()
      if (now - this.#logCheckedAt < LOG_CHECK_MS) return
      this.#log.check()
      this.#logCheckedAt = now
    } catch (error) {
      throw sqliteError(error, this.#file)
    }
  }

  async list(collection: StoreCollection, prefix = ''): Promise<readonly StoredRecord[]> {
    this.#check(collection, prefix)
    return this.#query(() => {
      const found: StoredRecord[] = []
      for (const row of this.#scan.iterate(collection, prefix)) {
        const key = String(row['key'])
        // In the order of the index, all keys with the prefix come first.
        if (!key.startsWith(prefix)) break
        found.push(storedRecord(key, String(row['value'])))
      }
      return found.toSorted(byKey)
    })
  }

  async append(record: Json): Promise<number> {
    this.#mustBeOpen()
    return this.#audit.add({ text: writeRecord(record), digested: [], count: 1 })
  }

  async appendAll(group: AuditGroup): Promise<number> {
    this.#mustBeOpen()
    return group.rows.length === 0 ? (await this.auditSpan()).last : this.#audit.add(draftGroup(group))
  }

  async archive(last: number, link: string, by: string): Promise<number> {
    this.#mustBeOpen()
    return this.#audit.archive({ position: last, link }, by)
  }

  async adopt(_name: string, start: ChainPosition, rows: readonly AdoptedRecords[]): Promise<void> {
    this.#mustBeOpen()
    await this.#audit.adopt(start, rows)
  }

  async records(from = 1, limit = Infinity): Promise<readonly AuditEntry[]> {
    this.#mustBeOpen()
    const page = auditPage(from, limit)
    if (this.#audit.isThreaded) await this.#audit.settled()
    return this.#query(() => this.#pages.read(page.from, page.limit))
  }

  async auditSpan(): Promise<AuditSpan> {
    this.#mustBeOpen()
    if (this.#audit.isThreaded) await this.#audit.settled()
    return this.#query(() => {
      const [start, end] = [this.#audit.start(), this.#audit.end()]
      const first = end.position === 0 ? 0 : start.position + 1
      return { first, before: start.link, last: end.position, link: end.link }
    })
  }

  /** Waits for pending operations. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.work.close()
    this.#journals.close()
    this.changes.close()
    await this.#audit.close()
    await this.#queue.close()
    try {
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch {
      // Acknowledged writes are in the log. The next process that opens the file recovers them.
    }
    try {
      this.#database.close()
      removeMark(this.#file)
    } catch (error) {
      throw sqliteError(error, this.#file)
    }
  }

  /**
   * Runs at once if no operation is pending, and otherwise through the queue, so that it sees exactly the earlier
   * writes.
   */
  async #query<T>(run: () => T): Promise<T> {
    if (!this.#queue.idle) return this.#queue.enqueue(run, false)
    try {
      this.#identity.check()
      return run()
    } catch (error) {
      if (isBusy(error)) return this.#queue.enqueue(run, false)
      throw sqliteError(error, this.#file)
    }
  }

  #check(collection: StoreCollection, key: string): void {
    this.#mustBeOpen()
    checkAddress(collection, key)
  }

  #mustBeOpen(): void {
    if (this.#closing) throw storeClosed()
  }
}
