import type { FileChange } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import type { FileScope } from './file-scope.ts'
import type { ResolvedPath } from './path-policy.ts'
import type { WatchLimits } from './watch.ts'
import { Watch } from './watch.ts'

/** The watches of one compartment. Each ends with its call. */
export class Watches {
  readonly #limits: WatchLimits
  readonly #calls = new Map<string, Map<string, Watch>>()
  readonly #closing = new Set<Promise<void>>()
  #folders = 0
  #count = 0

  constructor(limits: WatchLimits) {
    this.#limits = limits
  }

  /** Returns the id of the watch. */
  async start(callId: string, scope: FileScope, locate: () => Promise<ResolvedPath>): Promise<string> {
    const { watches: most } = this.#limits
    const watches = this.#calls.get(callId) ?? new Map<string, Watch>()
    if (watches.size >= most) {
      throw new BulkheadError('ResourceBusy', `The call already has ${most} watches open. Stop one of them.`)
    }
    const id = `${++this.#count}`
    const watch = new Watch({ scope, limits: this.#limits, claim: () => this.#claim() })
    // Register it before waiting, so that the end of the call also ends this watch.
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
    if (watch === undefined) throw new BulkheadError('InputInvalid', 'The watch is not open: it failed or was stopped.')
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
      this.#closing.add(gone)
      void gone.then(() => this.#closing.delete(gone))
    }
  }

  /** Resolves when all watches have ended. */
  async close(): Promise<void> {
    for (const callId of [...this.#calls.keys()]) this.endCall(callId)
    await Promise.all(this.#closing)
  }

  #claim(): () => void {
    const { folders: most } = this.#limits
    if (this.#folders >= most) {
      throw new BulkheadError('ResourceBusy', `The compartment already watches ${most} folders. Watch less.`)
    }
    this.#folders++
    return () => void this.#folders--
  }
}

const over = (): BulkheadError =>
  new BulkheadError('ToolCancelled', 'The watch was stopped by the tool, or because its call ended.')
