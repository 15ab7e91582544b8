import type { BulkheadError, Clock, Layer, LoadReport } from '@bulkhead/contract'
import type { EventBus } from '../../records/events.ts'

/** Where a host looks for extensions. */
export interface ReportSource {
  load(): Promise<LoadReport>
  /** Calls back after every change. Many calls in a short time are one reload. Returns its disposer. */
  watch?(onChange: () => void): () => void
}

export interface ReloadRequest {
  /** Default: the report of the host's source. */
  readonly report?: LoadReport
  /** Only these ids. Each is started and checked, also if it did not run or has not changed. */
  readonly extensions?: readonly string[]
}

/**
 * reloaded: a new generation has taken over. deferred: it will, when no turn or earlier generation prevents it.
 * refused: it declares that it is never reloaded. failed: it does not work, and the old one keeps running.
 */
export interface ReloadChange {
  readonly extension: string
  readonly layer: Layer
  readonly result: 'added' | 'removed' | 'reloaded' | 'deferred' | 'refused' | 'failed'
  /** The generation in use; undefined if there is none of this id. */
  readonly generation: number | undefined
  /** Why it was refused or failed. */
  readonly error?: BulkheadError
}

export interface ReloadReport {
  /** Empty if nothing changed. */
  readonly changes: readonly ReloadChange[]
}

/** Emits TrustDecision for the project of one workspace, once for each decision. */
export class TrustDecisions {
  readonly #events: EventBus
  #last: LoadReport['projectTrust']

  constructor(events: EventBus) {
    this.#events = events
  }

  taken({ projectTrust: now }: LoadReport): void {
    const before = this.#last
    this.#last = now
    if (now === undefined || (now.trust === before?.trust && now.projectDigest === before.projectDigest)) return
    this.#events.emit({ type: 'TrustDecision', path: now.path, decision: now.trust })
  }
}

/** Debouncing: the time without a change before a reload, and the longest delay. */
const QUIET_MS = 150
const LONGEST_MS = 2_000

/** Debounces changes. */
export class ChangeWatch {
  readonly #clock: Clock
  readonly #settled: () => void
  #since: number | undefined
  #stopTimer: (() => void) | undefined

  /** `settled` is called once for each series of changes. Contract: must not throw. */
  constructor(clock: Clock, settled: () => void) {
    this.#clock = clock
    this.#settled = settled
  }

  changed(): void {
    const now = this.#clock.monotonic()
    this.#since ??= now
    this.#stopTimer?.()
    this.#stopTimer = this.#clock.after(Math.max(0, Math.min(QUIET_MS, this.#since + LONGEST_MS - now)), () => {
      this.stop()
      this.#settled()
    })
  }

  /** Forgets pending changes. */
  stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#since = undefined
  }
}
