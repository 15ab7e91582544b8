import { BulkheadError, CALL_LIMITS } from '@bulkhead/contract'

/** The ids of the calls of a session. Events, records and undo name a call by its id, so no two calls have the same. */
export class CallIds {
  readonly #used = new Set<string>()

  /** Throws InputInvalid if a call has the id already. */
  take(id: string): void {
    if (this.#used.has(id)) {
      const message = `A call of this session already has the id "${id}". Give each call an id of its own.`
      throw new BulkheadError('InputInvalid', message, { data: { path: '/id' } })
    }
    this.#used.add(id)
    if (this.#used.size > CALL_LIMITS.sessionIds) this.#used.delete(this.#used.values().next().value!)
  }
}
