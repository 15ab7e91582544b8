import type { BulkheadError, Clock, Layer, LoadReport } from '@bulkhead/contract'
import type { EventBus } from '../../records/events.ts'

/** Where a host finds out what there is now. */
export interface ReportSource {
  load(): Promise<LoadReport>
  /** Calls back after every change of what `load` would find; a storm of calls is one reload. Returns its disposer. */
  watch?(onChange: () => void): () => void
}

export interface ReloadRequest {
  /** What there is now. Default: the host's source is asked. */
  readonly report?: LoadReport
  /** Only these ids. Each is started and must prove itself, also where it did not run and nothing about it has changed. */
  readonly extensions?: readonly string[]
}

/**
 * reloaded: another generation has taken over. deferred: it will, when no turn or no earlier generation stands in the way.
 * refused: it declares that it is never reloaded. failed: it does not stand, and what answered before goes on.
 */
export interface ReloadChange {
  readonly extension: string
  readonly layer: Layer
  readonly result: 'added' | 'removed' | 'reloaded' | 'deferred' | 'refused' | 'failed'
  /** Of what answers now; undefined when nothing of this id does. */
  readonly generation: number | undefined
  /** Why it was refused or failed. */
  readonly error?: BulkheadError
}

export interface ReloadReport {
  /** Empty when everything is as it was. */
  readonly changes: readonly ReloadChange[]
}

/** Emits TrustDecision for the project of one workspace, once for each decision that comes into force. */
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

/** Silence after which a storm of changes counts as over, and the longest it may put a reload off. */
const QUIET_MS = 150
const LONGEST_MS = 2_000

/** Turns any number of changes in a short time into one word. */
export class ChangeWatch {
  readonly #clock: Clock
  readonly #settled: () => void
  #since: number | undefined
  #stopTimer: (() => void) | undefined

  /** `settled` is called once for each storm. Contract: must not throw. */
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

  /** Forgets a storm that is not over. */
  stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#since = undefined
  }
}
