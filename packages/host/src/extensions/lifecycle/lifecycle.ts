import {
  BulkheadError, nextState, type CompartmentSession, type LifecycleSignal, type LifecycleState,
} from '@bulkhead/contract'
import type { EventBus } from '../../records/events.ts'

/** The data that belongs to a state. */
export interface StateData {
  /** The open compartment: in `active`, `draining` and `inactive`, and in `failed` if a phase of the stop failed. */
  readonly compartment?: CompartmentSession | undefined
  /** Why it failed last, until it is active again. */
  readonly fault?: BulkheadError | undefined
}

/** A state with its data. */
export interface Standing extends StateData {
  readonly state: LifecycleState
}

/** The state machine of one extension: the only writer of the state and its data. `LIFECYCLE` has the transitions. */
export class Lifecycle {
  readonly #extensionId: string
  readonly #generation: number
  readonly #events: EventBus
  #standing: Standing = { state: 'validated', compartment: undefined, fault: undefined }

  constructor(extensionId: string, generation: number, events: EventBus) {
    this.#extensionId = extensionId
    this.#generation = generation
    this.#events = events
  }

  get standing(): Standing {
    return this.#standing
  }

  get state(): LifecycleState {
    return this.#standing.state
  }

  /** The next state keeps the data by default. Throws LifecyclePhaseInvalid, and then changes nothing. */
  signal(signal: LifecycleSignal, { compartment, fault }: StateData = this.#standing): void {
    const from = this.#standing.state
    const to = nextState(from, signal)
    if (to === undefined) {
      const message = `The extension "${this.#extensionId}" is ${from}; "${signal}" cannot follow.`
      throw new BulkheadError('LifecyclePhaseInvalid', message, { data: { state: from, signal } })
    }
    this.#standing = { state: to, compartment, fault }
    const [extensionId, generation] = [this.#extensionId, this.#generation]
    this.#events.emit({ type: 'LifecycleStateChanged', extensionId, generation, from, to })
  }

  /** The compartment is about to be closed, or has ended. Its end is no longer a transition. */
  release(): void {
    const { state, fault } = this.#standing
    this.#standing = { state, compartment: undefined, fault }
  }
}
