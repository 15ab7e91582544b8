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

/** How long what happened may wait to be written with what happens next. A call takes a fraction of it. */
const GATHERING_MS = 5
/** Of what waits; more is written at once. */
const MOST_WAITING = 512

/**
 * Writes down what happens, in its order, without holding anything up: what happens within a moment is made into records, and
 * written, together. A record that could not be kept is counted, and the next one that can be says how many are missing before it.
 */
export class AuditTrail {
  readonly #options: AuditOptions
  readonly #pending = new Set<Promise<void>>()
  #waiting: BulkheadEvent[] = []
  #timer: NodeJS.Timeout | undefined
  #lost = 0
  #fault: BulkheadError | undefined
  #broken = false

  constructor(options: AuditOptions) {
    this.#options = options
  }

  /** A listener of events. */
  readonly hear = (event: BulkheadEvent): void => {
    // Whoever's secrets it may hold may be gone by the time it is written.
    this.#options.redaction()
    this.#waiting.push(event)
    if (this.#waiting.length >= MOST_WAITING) this.#write()
    // Not the host's clock: how much is gathered is nothing that happens.
    else this.#timer ??= setTimeout(this.#write, GATHERING_MS).unref()
  }

  /**
   * Resolves when all that happened until now is as durable as the store is. Rejects with StoreUnavailable when some of it,
   * since the last flush, is not.
   */
  async flush(): Promise<void> {
    this.#write()
    await Promise.all(this.#pending)
    const fault = this.#fault
    this.#fault = undefined
    if (fault !== undefined) throw fault
  }

  readonly #write = (): void => {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const { redaction, keepArguments } = this.#options
    const records = this.#waiting.map((event) => recordOf(event, redaction(), keepArguments))
    this.#waiting = []
    if (records.length > 0) this.#keep(records)
  }

  #keep(records: readonly Record<string, Json>[]): void {
    const missing = this.#lost
    if (missing > 0) records[0]!['lostBefore'] = missing
    this.#lost = 0
    const kept = this.#append(records).then(() => {
      this.#broken = false
    }, (error: unknown) => this.#lose(records.length + missing, error))
    this.#pending.add(kept)
    void kept.then(() => this.#pending.delete(kept))
  }

  async #append(records: readonly Record<string, Json>[]): Promise<void> {
    const { store } = this.#options
    if (store.appendAll) await store.appendAll(records)
    else for (const record of records) await store.append(record)
  }

  #lose(count: number, error: unknown): void {
    this.#lost += count
    this.#fault = BulkheadError.from(error, 'StoreUnavailable')
    if (this.#broken) return
    this.#broken = true
    this.#options.failed(error)
  }
}
