import type { FileChange } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'

type Change = FileChange['change']

/** The sum of two changes to one path; undefined if they cancel out. */
const MERGED: Readonly<Record<Change, Readonly<Record<Change, Change | undefined>>>> = {
  created: { created: 'created', changed: 'created', removed: undefined },
  changed: { created: 'changed', changed: 'changed', removed: 'removed' },
  removed: { created: 'changed', changed: 'changed', removed: 'removed' },
}

/** Unread changes, one per path. It fails when there are more than `most`. */
export class ChangeQueue {
  readonly #most: number
  readonly #changes = new Map<string, Change>()
  #waiting: PromiseWithResolvers<readonly FileChange[]> | undefined
  #end: BulkheadError | undefined

  constructor(most: number) {
    this.#most = most
  }

  add(path: string, change: Change): void {
    if (this.#end !== undefined) return
    const before = this.#changes.get(path)
    const merged = before === undefined ? change : MERGED[before][change]
    this.#changes.delete(path)
    if (merged !== undefined) this.#changes.set(path, merged)
    if (this.#changes.size > this.#most) this.end(overflow(this.#most))
  }

  /** Passes the changes to a waiting reader. Call it after a batch, so that the batch arrives at once. */
  flush(): void {
    if (this.#waiting === undefined || this.#changes.size === 0) return
    this.#waiting.resolve(this.#take())
    this.#waiting = undefined
  }

  /** Resolves with at least one change. Rejects with the reason once the queue has ended. */
  async next(): Promise<readonly FileChange[]> {
    if (this.#end !== undefined) throw this.#end
    if (this.#waiting !== undefined) {
      throw new BulkheadError('InputInvalid', 'Another read of this watch is already waiting.')
    }
    if (this.#changes.size > 0) return this.#take()
    this.#waiting = Promise.withResolvers()
    return this.#waiting.promise
  }

  /** Only the first call counts. */
  end(reason: BulkheadError): void {
    if (this.#end !== undefined) return
    this.#end = reason
    this.#changes.clear()
    this.#waiting?.reject(reason)
    this.#waiting = undefined
  }

  #take(): readonly FileChange[] {
    const changes = Array.from(this.#changes, ([path, change]) => ({ path, change }))
    this.#changes.clear()
    return changes
  }
}

const overflow = (most: number): BulkheadError =>
  new BulkheadError(
    'OutputTooLarge',
    `More than ${most} paths changed before the tool read the changes. Watch less, or read faster.`,
  )
