import {
  BulkheadError, type AuditEntry, type AuditSpan, type Store, type StoreCollection, type StoredRecord,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { approvalsChanged } from '../../src/records/sole-work.ts'

/** A store in memory that fails on demand. */
export class MemoryStore implements Store {
  readonly #records = new Map<string, Json>()
  readonly #audit: Json[] = []
  failing = false

  async read(collection: StoreCollection, key: string): Promise<Json | undefined> {
    this.#check()
    return this.#records.get(`${collection}:${key}`)
  }

  async write(collection: StoreCollection, key: string, value: Json): Promise<void> {
    this.#check()
    this.#records.set(`${collection}:${key}`, JSON.parse(JSON.stringify(value)) as Json)
    if (collection === 'approval') approvalsChanged(this)
  }

  async remove(collection: StoreCollection, key: string): Promise<void> {
    this.#check()
    this.#records.delete(`${collection}:${key}`)
    if (collection === 'approval') approvalsChanged(this)
  }

  async update(
    collection: StoreCollection, key: string, change: (value: Json | undefined) => Json | undefined,
  ): Promise<Json | undefined> {
    this.#check()
    const next = change(this.#records.get(`${collection}:${key}`))
    void (next === undefined ? this.remove(collection, key) : this.write(collection, key, next))
    return next
  }

  async list(collection: StoreCollection, prefix = ''): Promise<readonly StoredRecord[]> {
    this.#check()
    const start = `${collection}:`
    return [...this.#records]
      .filter(([key]) => key.startsWith(start + prefix))
      .map(([key, value]) => ({ key: key.slice(start.length), value }))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
  }

  async append(record: Json): Promise<number> {
    this.#check()
    return this.#audit.push(record)
  }

  async records(from = 1, limit = Infinity): Promise<readonly AuditEntry[]> {
    this.#check()
    return this.#audit
      .map((record, index) => ({ position: index + 1, record, link: '' }))
      .slice(from - 1, from - 1 + limit)
  }

  async auditSpan(): Promise<AuditSpan> {
    return { first: Math.min(this.#audit.length, 1), before: '', last: this.#audit.length, link: '' }
  }

  async close(): Promise<void> {}

  #check(): void {
    if (this.failing) throw new BulkheadError('StoreUnavailable', 'The store fails in this test.')
  }
}
