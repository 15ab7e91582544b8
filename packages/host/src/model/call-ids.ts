import { BulkheadError, CALL_LIMITS } from '@bulkhead/contract'

/** The ids of the calls of a session. Events, records and undo name a call by its id, so no two calls have the same. */
export class CallIds {
  readonly #used = new Set<string>()
  /** The same in a circle: to find the first of a Set, Node passes every id that was removed. */
  readonly #inOrder: string[] = []
  #next = 0
  readonly #taken: ((id: string) => void) | undefined

  /** `taken` is called for each id. `earlier`: of a session that is resumed, oldest first. */
  constructor(taken?: (id: string) => void, earlier: readonly string[] = []) {
    for (const id of earlier) if (!this.#used.has(id)) this.take(id)
    this.#taken = taken
  }

  /** Throws InputInvalid if a call has the id already. */
  take(id: string): void {
    if (this.#used.has(id)) {
      const message = `A call of this session already has the id "${id}". Give each call an id of its own.`
      throw new BulkheadError('InputInvalid', message, { data: { path: '/id' } })
    }
    this.#used.add(id)
    const oldest = this.#inOrder[this.#next]
    if (oldest !== undefined) this.#used.delete(oldest)
    this.#inOrder[this.#next] = id
    this.#next = (this.#next + 1) % CALL_LIMITS.sessionIds
    this.#taken?.(id)
  }
}
