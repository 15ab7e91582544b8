import { STORE_COLLECTIONS, type Json, type Store, type StoreCollection } from '@bulkhead/contract'
import { auditPage, byKey, checkAddress, nameOf } from './address.ts'
import { readRecord, writeRecord } from './record-text.ts'
import { closedFault } from './store-fault.ts'

/** The store that forgets: the twin of the durable one, for tests and for hosts that must leave nothing behind. */
export function createMemoryStore(): Store {
  return new MemoryStore()
}

/** Keeps text, as the durable one does, so that what comes back is the same to the last key. */
class MemoryStore implements Store {
  readonly forgets = true
  readonly #collections = new Map(STORE_COLLECTIONS.map((name) => [name, new Map<string, string>()]))
  readonly #audit: string[] = []
  #closed = false

  async read(collection: StoreCollection, key: string): Promise<Json | undefined> {
    const text = this.#at(collection, key).get(key)
    return text === undefined ? undefined : readRecord(text, nameOf(collection, key))
  }

  async write(collection: StoreCollection, key: string, value: Json): Promise<void> {
    this.#at(collection, key).set(key, writeRecord(value))
  }

  async remove(collection: StoreCollection, key: string): Promise<void> {
    this.#at(collection, key).delete(key)
  }

  async list(collection: StoreCollection, prefix = '') {
    return [...this.#at(collection, prefix)]
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, text]) => ({ key, value: readRecord(text, nameOf(collection, key)) }))
      .toSorted(byKey)
  }

  async append(record: Json): Promise<number> {
    this.#mustBeOpen()
    return this.#audit.push(writeRecord(record))
  }

  async records(from = 1, limit = Infinity) {
    this.#mustBeOpen()
    const page = auditPage(from, limit)
    return this.#audit.slice(page.from - 1, page.from - 1 + page.limit).map((text, index) => {
      const position = page.from + index
      return { position, record: readRecord(text, `audit record ${position}`) }
    })
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  #at(collection: StoreCollection, key: string): Map<string, string> {
    this.#mustBeOpen()
    checkAddress(collection, key)
    return this.#collections.get(collection) as Map<string, string>
  }

  #mustBeOpen(): void {
    if (this.#closed) throw closedFault()
  }
}
