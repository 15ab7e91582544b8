/**
 * Keeps operations in the order of their calls where that can be seen: those on one record follow each other, and one on
 * a whole collection waits for all before it. Others run at once, on several connections.
 */
export class OperationOrder {
  readonly #collections = new Map<string, CollectionOrder>()

  /** Runs `work` after earlier work on this record, and on all records of its collection. */
  one<T>(collection: string, key: string, work: () => Promise<T>): Promise<T> {
    return this.#of(collection).one(key, work)
  }

  /** Runs `work` after all earlier work on the collection. */
  all<T>(collection: string, work: () => Promise<T>): Promise<T> {
    return this.#of(collection).all(work)
  }

  /** Resolves when no operation is pending. */
  async settled(): Promise<void> {
    await Promise.all([...this.#collections.keys()].map((name) => this.all(name, async () => undefined)))
  }

  #of(collection: string): CollectionOrder {
    return this.#collections.getOrInsertComputed(collection, () => new CollectionOrder())
  }
}

class CollectionOrder {
  /** The last operation on each record since the last one on all. */
  readonly #last = new Map<string, Promise<unknown>>()
  #all: Promise<unknown> | undefined

  one<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? this.#all
    const running = before ? after([before], work) : work()
    this.#last.set(key, running)
    const forget = () => {
      if (this.#last.get(key) === running) this.#last.delete(key)
    }
    running.then(forget, forget)
    return running
  }

  all<T>(work: () => Promise<T>): Promise<T> {
    const before = [...this.#last.values(), ...(this.#all ? [this.#all] : [])]
    const running = before.length > 0 ? after(before, work) : work()
    this.#last.clear()
    this.#all = running
    const forget = () => {
      if (this.#all === running) this.#all = undefined
    }
    running.then(forget, forget)
    return running
  }
}

/** The outcome of the earlier work concerns its own caller only. */
async function after<T>(before: readonly Promise<unknown>[], work: () => Promise<T>): Promise<T> {
  await Promise.allSettled(before)
  return work()
}
