import type { BulkheadEvent, EventType, Json, Store } from '@bulkhead/contract'
import type { EventBus } from '../events.ts'
import { PendingWrites } from './pending-writes.ts'

export interface AuditSettings {
  /** Default: where the store outlives the process. */
  readonly enabled?: boolean | undefined
  /** Whether the arguments of calls are recorded too. */
  readonly arguments?: boolean | undefined
}

/** What happened to a call on its way, and what a stranger says of itself, is not for the record. */
const LEFT_OUT: ReadonlySet<EventType> = new Set<EventType>([
  'ToolInvocationStarted', 'ToolInvocationProgress', 'ToolInvocationUpdated', 'ExtensionLog', 'LifecyclePhaseStart',
  'LifecyclePhaseEnd', 'SuppressedError',
])

/** Every decision, and how every call ended, in the order they happened. A store that fails costs the record, never the call. */
export class AuditTrail {
  readonly #writes: PendingWrites
  readonly #stop: (() => void) | undefined

  /** `settings` is asked each time: a host may work by others later. */
  constructor(store: Store, events: EventBus, settings: () => AuditSettings) {
    const byDefault = store.forgets !== true
    this.#writes = new PendingWrites('audit', events)
    // Without anybody who listens, events cost nothing: a host that forgets keeps it so unless it was told otherwise.
    if (!byDefault && settings().enabled !== true) return
    this.#stop = events.on((event) => {
      const { enabled = byDefault, arguments: withArguments = false } = settings()
      if (!enabled || LEFT_OUT.has(event.type) || (event.type === 'ToolInvocationProposed' && !withArguments)) return
      void this.#writes.add(store.append(recordOf(event)))
    })
  }

  /** Resolves when all that was told before is on record. */
  settled(): Promise<void> {
    return this.#writes.settled()
  }

  async close(): Promise<void> {
    this.#stop?.()
    await this.settled()
  }
}

/** Without the fields that have no value: a store keeps JSON. */
const recordOf = (event: BulkheadEvent): Json =>
  Object.fromEntries(Object.entries(event).filter(([, value]) => value !== undefined)) as Json
