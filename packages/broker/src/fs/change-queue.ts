import type { FileChange } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'

type Change = FileChange['change']

/** What two changes to one path are together; undefined when they cancel each other out. */
const TOGETHER: Readonly<Record<Change, Readonly<Record<Change, Change | undefined>>>> = {
  created: { created: 'created', changed: 'created', removed: undefined },
  changed: { created: 'changed', changed: 'changed', removed: 'removed' },
  removed: { created: 'changed', changed: 'changed', removed: 'removed' },
}

/** Changes that wait to be read, one for each path. When more wait than it may hold, it fails and holds nothing. */
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
    const together = before === undefined ? change : TOGETHER[before][change]
    this.#changes.delete(path)
    if (together !== undefined) this.#changes.set(path, together)
    if (this.#changes.size > this.#most) this.end(overflow(this.#most))
  }

  /** Hands over what was added, when somebody waits for it. What happens in one go is told in one go. */
  flush(): void {
    if (this.#waiting === undefined || this.#changes.size === 0) return
    this.#waiting.resolve(this.#take())
    this.#waiting = undefined
  }

  /** At least one change. Rejects with the reason once it has ended. */
  async next(): Promise<readonly FileChange[]> {
    if (this.#end !== undefined) throw this.#end
    if (this.#waiting !== undefined) throw new BulkheadError('InputInvalid', 'The changes are being waited for already.')
    if (this.#changes.size > 0) return this.#take()
    this.#waiting = Promise.withResolvers()
    return this.#waiting.promise
  }

  /** The first end counts. */
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
    `More than ${most} paths changed before the tool took note of them. Watch less, or read faster.`,
  )
