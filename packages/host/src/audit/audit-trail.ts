import { BulkheadError, type BulkheadEvent, type Json, type Store } from '@bulkhead/contract'
import { recordOf } from './audit-record.ts'
import type { Redaction } from './redaction.ts'

export interface AuditOptions {
  readonly store: Store
  /** As it is now. */
  readonly redaction: () => Redaction
  /** Whether the arguments of calls are kept, and not their digest alone. */
  readonly keepArguments: boolean
  /** Told once when records begin to be lost, and again after it has worked in between. */
  readonly failed: (error: unknown) => void
}

/**
 * Writes down what happens, in its order, without holding anything up. A record that could not be kept is counted, and the next
 * one that can be says how many are missing before it.
 */
export class AuditTrail {
  readonly #options: AuditOptions
  readonly #pending = new Set<Promise<void>>()
  #lost = 0
  #fault: BulkheadError | undefined
  #broken = false

  constructor(options: AuditOptions) {
    this.#options = options
  }

  /** A listener of events. */
  readonly hear = (event: BulkheadEvent): void => {
    const record = recordOf(event, this.#options.redaction(), this.#options.keepArguments)
    if (record !== undefined) this.#keep(record)
  }

  /**
   * Resolves when all that happened until now is as durable as the store is. Rejects with StoreUnavailable when some of it,
   * since the last flush, is not.
   */
  async flush(): Promise<void> {
    await Promise.all(this.#pending)
    const fault = this.#fault
    this.#fault = undefined
    if (fault !== undefined) throw fault
  }

  #keep(record: Record<string, Json>): void {
    const missing = this.#lost
    if (missing > 0) record['lostBefore'] = missing
    this.#lost = 0
    const kept = this.#options.store.append(record).then(() => {
      this.#broken = false
    }, (error: unknown) => this.#lose(1 + missing, error))
    this.#pending.add(kept)
    void kept.then(() => this.#pending.delete(kept))
  }

  #lose(count: number, error: unknown): void {
    this.#lost += count
    this.#fault = BulkheadError.from(error, 'StoreUnavailable')
    if (this.#broken) return
    this.#broken = true
    this.#options.failed(error)
  }
}
