import { BulkheadError, nextState, type LifecycleSignal, type LifecycleState } from '@bulkhead/contract'
import type { EventBus } from './events.ts'

/** Where one extension stands in the table. The only thing that writes a state. */
export class Lifecycle {
  readonly #extensionId: string
  readonly #events: EventBus
  #state: LifecycleState = 'validated'

  constructor(extensionId: string, events: EventBus) {
    this.#extensionId = extensionId
    this.#events = events
  }

  get state(): LifecycleState {
    return this.#state
  }

  /** Throws LifecyclePhaseInvalid for a transition the table does not have; the state stays. */
  signal(signal: LifecycleSignal): void {
    const from = this.#state
    const to = nextState(from, signal)
    if (to === undefined) {
      const message = `The extension "${this.#extensionId}" is ${from}; "${signal}" cannot follow.`
      throw new BulkheadError('LifecyclePhaseInvalid', message, { data: { state: from, signal } })
    }
    this.#state = to
    this.#events.emit({ type: 'LifecycleStateChanged', extensionId: this.#extensionId, from, to })
  }
}
