import {
  STORE_COLLECTIONS, type AuditEntry, type AuditSpan, type Store, type StoreCollection,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import {
  auditPage, byKey, checkAddress, nameOf, readRecord, storeClosed, storedRecord, writeRecord,
} from './records/stored-record.ts'
import { MemoryWork } from './memory-work.ts'
import { SqliteChanges } from './sqlite/sqlite-changes.ts'
import { CHAIN_START, linkOf } from './records/audit-chain.ts'

/** Older records are dropped, so that memory stays bounded. */
const MAX_AUDIT_RECORDS = 10_000
const MAX_CHANGED_BYTES = 64 * 1024 ** 2

interface LinkedText {
  readonly text: string
  readonly link: string
}

/** A store that keeps nothing after the process ends, for tests and for hosts that must not write to disk. */
export function createMemoryStore(): Store {
  return new MemoryStore()
}

/** Stores JSON text like the durable store, so that both return the same values. */
class MemoryStore implements Store {
  readonly forgets = true
  readonly changes = new SqliteChanges(undefined, { totalBytes: MAX_CHANGED_BYTES, changes: 10_000 })
  readonly work = new MemoryWork()
  readonly #collections = new Map(STORE_COLLECTIONS.map((name) => [name, new Map<string, string>()]))
  /** By position, oldest first. */
  readonly #audit = new Map<number, LinkedText>()
  #before = CHAIN_START
  #last = 0
  #link = CHAIN_START
  #closed = false

  async read(collection: StoreCollection, key: string): Promise<Json | undefined> {
    const text = this.#at(collection, key).get(key)
    return text === undefined ? undefined : readRecord(text, nameOf(collection, key))
  }

  async write(collection: StoreCollection, key: string, value: Json): Promise<void> {
    this.#at(collection, key).set(key, writeRecord(value))
    this.#changed(collection)
  }

  async remove(collection: StoreCollection, key: string): Promise<void> {
    this.#at(collection, key).delete(key)
    this.#changed(collection)
  }

  async update(
    collection: StoreCollection, key: string, change: (value: Json | undefined) => Json | undefined,
  ): Promise<Json | undefined> {
    const records = this.#at(collection, key)
    const text = records.get(key)
    const next = change(text === undefined ? undefined : readRecord(text, nameOf(collection, key)))
    if (next === undefined) records.delete(key)
    else records.set(key, writeRecord(next))
    this.#changed(collection)
    return next
  }

  async list(collection: StoreCollection, prefix = '') {
    return [...this.#at(collection, prefix)]
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, text]) => storedRecord(key, text))
      .toSorted(byKey)
  }

  async append(record: Json): Promise<number> {
    this.#mustBeOpen()
    const text = writeRecord(record)
    this.#link = linkOf(this.#link, ++this.#last, text)
    this.#audit.set(this.#last, { text, link: this.#link })
    if (this.#audit.size > MAX_AUDIT_RECORDS) this.#dropOldest()
    return this.#last
  }

  async records(from = 1, limit = Infinity): Promise<readonly AuditEntry[]> {
    this.#mustBeOpen()
    const page = auditPage(from, limit)
    const entries: AuditEntry[] = []
    const start = Math.max(page.from, this.#last - this.#audit.size + 1)
    for (let position = start; position <= this.#last && entries.length < page.limit; position++) {
      const { text, link } = this.#audit.get(position)!
      entries.push({ position, record: readRecord(text, `audit record ${position}`), link })
    }
    return entries
  }

  async auditSpan(): Promise<AuditSpan> {
    this.#mustBeOpen()
    const first = this.#last === 0 ? 0 : this.#last - this.#audit.size + 1
    return { first, before: this.#before, last: this.#last, link: this.#link }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.changes.close()
    this.work.close()
  }

  #dropOldest(): void {
    const [[position, { link }]] = this.#audit.entries() as unknown as [[number, LinkedText]]
    this.#audit.delete(position)
    this.#before = link
  }

  #changed(collection: StoreCollection): void {
    if (collection === 'approval') this.work.changed()
  }

  #at(collection: StoreCollection, key: string): Map<string, string> {
    this.#mustBeOpen()
    checkAddress(collection, key)
    return this.#collections.get(collection) as Map<string, string>
  }

  #mustBeOpen(): void {
    if (this.#closed) throw storeClosed()
  }
}
