import { BulkheadError, nextState, type LifecycleSignal, type LifecycleState } from '@bulkhead/contract'
import type { EventBus } from '../../records/events.ts'

/** Where one extension stands in the table. The only thing that writes a state. */
export class Lifecycle {
  readonly #extensionId: string
  readonly #generation: number
  readonly #events: EventBus
  #state: LifecycleState = 'validated'

  constructor(extensionId: string, generation: number, events: EventBus) {
    this.#extensionId = extensionId
    this.#generation = generation
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
    const [extensionId, generation] = [this.#extensionId, this.#generation]
    this.#events.emit({ type: 'LifecycleStateChanged', extensionId, generation, from, to })
  }
}
