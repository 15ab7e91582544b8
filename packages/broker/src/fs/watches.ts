import type { FileChange } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import type { FileScope } from './file-scope.ts'
import type { Place } from './path-policy.ts'
import type { WatchLimits } from './watch.ts'
import { Watch } from './watch.ts'

/** The watches of one compartment, each until its call ends. */
export class Watches {
  readonly #limits: WatchLimits
  readonly #calls = new Map<string, Map<string, Watch>>()
  readonly #leaving = new Set<Promise<void>>()
  #folders = 0
  #count = 0

  constructor(limits: WatchLimits) {
    this.#limits = limits
  }

  /** The id to read it by. */
  async start(callId: string, scope: FileScope, locate: () => Promise<Place>): Promise<string> {
    const { watches: most } = this.#limits
    const watches = this.#calls.get(callId) ?? new Map<string, Watch>()
    if (watches.size >= most) {
      throw new BulkheadError('ResourceBusy', `The call has ${most} watches open. Stop reading one of them.`)
    }
    const id = `${++this.#count}`
    const watch = new Watch({ scope, limits: this.#limits, claim: () => this.#claim() })
    // Before anything is waited for: the call may end meanwhile, and takes with it what is known to be its.
    this.#calls.set(callId, watches.set(id, watch))
    try {
      await watch.start(await locate())
    } catch (error) {
      await this.stop(callId, id)
      throw error
    }
    if (this.#calls.get(callId)?.get(id) !== watch) throw over()
    return id
  }

  async next(callId: string, id: string): Promise<Json> {
    const watch = this.#calls.get(callId)?.get(id)
    if (watch === undefined) throw new BulkheadError('InputInvalid', 'The watch is not open: it failed, or was stopped.')
    try {
      return await watch.next() as readonly FileChange[] as unknown as Json
    } catch (error) {
      if (BulkheadError.is(error) && error.code !== 'InputInvalid') await this.stop(callId, id)
      throw error
    }
  }

  /** Idempotent. */
  async stop(callId: string, id: string): Promise<void> {
    const watches = this.#calls.get(callId)
    const watch = watches?.get(id)
    watches?.delete(id)
    if (watches?.size === 0) this.#calls.delete(callId)
    await watch?.close(over())
  }

  endCall(callId: string): void {
    for (const id of [...this.#calls.get(callId)?.keys() ?? []]) {
      const gone = this.stop(callId, id)
      this.#leaving.add(gone)
      void gone.then(() => this.#leaving.delete(gone))
    }
  }

  /** Resolves when nothing is watched any more. */
  async close(): Promise<void> {
    for (const callId of [...this.#calls.keys()]) this.endCall(callId)
    await Promise.all(this.#leaving)
  }

  #claim(): () => void {
    const { folders: most } = this.#limits
    if (this.#folders >= most) {
      throw new BulkheadError('ResourceBusy', `The compartment watches ${most} folders, which is all it may. Watch less.`)
    }
    this.#folders++
    return () => void this.#folders--
  }
}

const over = (): BulkheadError => new BulkheadError('ToolCancelled', 'The watch was stopped, by the tool or with its call.')
