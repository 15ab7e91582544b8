import {
  BulkheadError, type AuditEntry, type AuditGroup, type AuditSpan, type Clock, type Notes, type Store, type StoreCollection, type StoredRecord,
} from '@bulkhead/contract'
import { within } from '@bulkhead/kit/deadlines'
import type { Json } from '@bulkhead/kit/json'

/** Longer than a working store ever takes. It waits for other processes and for the disk itself. */
const TIMEOUT_MS = 30_000

/**
 * The embedder's store with a timeout. Every request settles, and a throw becomes a rejection, so a store that does not
 * answer cannot hold up a call or the end of a host.
 */
export class StoreWithTimeout implements Store {
  readonly forgets: boolean
  /** Optional members exist where the store has them. */
  readonly approvalRevision?: () => number
  readonly appendAll?: (group: AuditGroup) => Promise<number>
  readonly archive?: (last: number, link: string, by: string) => Promise<number>
  readonly notes?: Notes
  readonly #store: Store
  readonly #clock: Clock

  constructor(store: Store, clock: Clock) {
    this.forgets = store.forgets === true
    this.#store = store
    this.#clock = clock
    const { notes } = store
    if (store.approvalRevision) this.approvalRevision = () => store.approvalRevision!()
    if (store.appendAll) this.appendAll = (group) => this.#ask(() => store.appendAll!(group))
    if (store.archive) this.archive = (last, link, by) => this.#ask(() => store.archive!(last, link, by))
    if (notes) {
      this.notes = {
        open: (owner) => notes.open(owner),
        owners: () => this.#ask(() => notes.owners()),
        left: (owner) => this.#ask(() => notes.left(owner)),
        discard: (owner) => this.#ask(() => notes.discard(owner)),
      }
    }
  }

  read(collection: StoreCollection, key: string): Promise<Json | undefined> {
    return this.#ask(() => this.#store.read(collection, key))
  }

  write(collection: StoreCollection, key: string, value: Json): Promise<void> {
    return this.#ask(() => this.#store.write(collection, key, value))
  }

  remove(collection: StoreCollection, key: string): Promise<void> {
    return this.#ask(() => this.#store.remove(collection, key))
  }

  update(collection: StoreCollection, key: string, change: (value: Json | undefined) => Json | undefined): Promise<Json | undefined> {
    return this.#ask(() => this.#store.update(collection, key, change))
  }

  list(collection: StoreCollection, prefix?: string): Promise<readonly StoredRecord[]> {
    return this.#ask(() => this.#store.list(collection, prefix))
  }

  append(record: Json): Promise<number> {
    return this.#ask(() => this.#store.append(record))
  }

  records(from?: number, limit?: number): Promise<readonly AuditEntry[]> {
    return this.#ask(() => this.#store.records(from, limit))
  }

  auditSpan(): Promise<AuditSpan> {
    return this.#ask(() => this.#store.auditSpan())
  }

  close(): Promise<void> {
    return this.#ask(() => this.#store.close())
  }

  #ask<Value>(work: () => Promise<Value>): Promise<Value> {
    return within({ clock: this.#clock, ms: TIMEOUT_MS, late: unanswered }, work)
  }
}

const unanswered = () =>
  new BulkheadError('StoreUnavailable', `The store did not answer within ${TIMEOUT_MS} ms.`, { data: { reason: 'unanswered' } })
