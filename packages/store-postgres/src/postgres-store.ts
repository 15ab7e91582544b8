import type {
  AdoptedRecords, AuditChain, AuditEntry, AuditGroup, AuditSpan, ChangeStore, Store, StoreCollection, StoredRecord, Work,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { checkAddress, draftGroup, storeClosed, writeRecord, type ChainPosition } from '@bulkhead/store/records'
import type { Database } from './connection/database.ts'
import { AuditLog, chainName, chainsIn } from './records/audit-log.ts'
import { PostgresPlacements } from './placements/placements.ts'
import { ChangeLog, type ChangeLimits } from './records/change-log.ts'
import { Entries } from './records/entries.ts'
import { PostgresWork } from './work/work.ts'

/** The store of many hosts. */
export class PostgresStore implements Store {
  readonly changes: ChangeStore
  readonly work: Work
  readonly placements: PostgresPlacements
  readonly #work: PostgresWork
  readonly #database: Database
  readonly #entries: Entries
  readonly #audit: AuditLog
  #closing: Promise<void> | undefined

  constructor(database: Database, limits: Partial<ChangeLimits>) {
    this.#database = database
    this.#entries = new Entries(database)
    this.#audit = new AuditLog(database, chainName(database.url.hostName))
    this.changes = new ChangeLog(database, limits)
    this.#work = new PostgresWork(database)
    this.work = this.#work
    this.placements = new PostgresPlacements(database)
  }

  async read(collection: StoreCollection, key: string): Promise<Json | undefined> {
    this.#check(collection, key)
    return this.#entries.read(collection, key)
  }

  async write(collection: StoreCollection, key: string, value: Json): Promise<void> {
    this.#check(collection, key)
    await this.#entries.write(collection, key, writeRecord(value))
  }

  async remove(collection: StoreCollection, key: string): Promise<void> {
    this.#check(collection, key)
    await this.#entries.remove(collection, key)
  }

  async update(
    collection: StoreCollection, key: string, change: (value: Json | undefined) => Json | undefined,
  ): Promise<Json | undefined> {
    this.#check(collection, key)
    return this.#entries.update(collection, key, change)
  }

  async list(collection: StoreCollection, prefix = ''): Promise<readonly StoredRecord[]> {
    this.#check(collection, prefix)
    return this.#entries.list(collection, prefix)
  }

  async append(record: Json): Promise<number> {
    this.#mustBeOpen()
    return this.#audit.append({ text: writeRecord(record), digested: [], count: 1 })
  }

  async appendAll(group: AuditGroup): Promise<number> {
    this.#mustBeOpen()
    return group.rows.length === 0 ? (await this.auditSpan()).last : this.#audit.append(draftGroup(group))
  }

  async archive(last: number, link: string, by: string): Promise<number> {
    this.#mustBeOpen()
    return this.#audit.archive(last, link, by)
  }

  async records(from?: number, limit?: number): Promise<readonly AuditEntry[]> {
    this.#mustBeOpen()
    return this.#audit.records(from, limit)
  }

  async auditSpan(): Promise<AuditSpan> {
    this.#mustBeOpen()
    return this.#audit.auditSpan()
  }

  async chains(): Promise<readonly AuditChain[]> {
    this.#mustBeOpen()
    return chainsIn(this.#database)
  }

  async adopt(name: string, start: ChainPosition, rows: readonly AdoptedRecords[]): Promise<void> {
    this.#mustBeOpen()
    await (name === this.#audit.name ? this.#audit : new AuditLog(this.#database, name)).adopt(start, rows)
  }

  /** Waits for pending operations. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.all([this.#work.close(), this.placements.stop(), this.#entries.settled(), this.#audit.settled()])
    await this.#database.close()
  }

  #check(collection: StoreCollection, key: string): void {
    this.#mustBeOpen()
    checkAddress(collection, key)
  }

  #mustBeOpen(): void {
    if (this.#closing) throw storeClosed()
  }
}
