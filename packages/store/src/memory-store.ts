import { BulkheadError, STORE_COLLECTIONS, type Json, type Store, type StoreCollection } from '@bulkhead/contract'

/** The store that forgets: the twin of the durable one, for tests and for hosts that must leave nothing behind. */
export function createMemoryStore(): Store {
  return new MemoryStore()
}

class MemoryStore implements Store {
  readonly #collections: ReadonlyMap<StoreCollection, Map<string, Json>> = new Map(STORE_COLLECTIONS.map((name) => [name, new Map()]))
  readonly #records: Json[] = []
  #closed = false

  async read(collection: StoreCollection, key: string): Promise<Json | undefined> {
    const value = this.#open(collection).get(key)
    return value === undefined ? undefined : structuredClone(value)
  }

  async write(collection: StoreCollection, key: string, value: Json): Promise<void> {
    this.#open(collection).set(key, structuredClone(value))
  }

  async remove(collection: StoreCollection, key: string): Promise<void> {
    this.#open(collection).delete(key)
  }

  async list(collection: StoreCollection, prefix = '') {
    return [...this.#open(collection)]
      .filter(([key]) => key.startsWith(prefix))
      .toSorted(([a], [b]) => a < b ? -1 : 1)
      .map(([key, value]) => ({ key, value: structuredClone(value) }))
  }

  async append(record: Json): Promise<number> {
    this.#mustBeOpen()
    return this.#records.push(structuredClone(record))
  }

  async records(from = 1, limit = Infinity) {
    this.#mustBeOpen()
    const start = Math.max(from, 1)
    return this.#records.slice(start - 1, start - 1 + limit).map((record, index) => ({ position: start + index, record: structuredClone(record) }))
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  #open(collection: StoreCollection): Map<string, Json> {
    this.#mustBeOpen()
    const found = this.#collections.get(collection)
    if (!found) throw new BulkheadError('StoreUnavailable', `The store has no collection "${collection}".`)
    return found
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new BulkheadError('StoreUnavailable', 'The store is closed.')
  }
}
