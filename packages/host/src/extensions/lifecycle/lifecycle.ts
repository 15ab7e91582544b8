import {
  BulkheadError, nextState, type Clock, type CompartmentSession, type ExtensionDescriptor, type LifecyclePhase,
  type LifecycleSignal, type LifecycleState,
} from '@bulkhead/contract'
import { settlesWithin } from '@bulkhead/kit/deadlines'
import type { Arrangement } from '../../model/settings.ts'
import type { EventBus } from '../../records/events.ts'

/** The data that belongs to a state. */
export interface StateData {
  /** The open compartment: in `active`, `draining` and `inactive`, and in `failed` if a phase of the stop failed. */
  readonly compartment?: CompartmentSession | undefined
  /** Why it failed last, until it is active again. */
  readonly fault?: BulkheadError | undefined
}

/** A state with its data. */
export interface CurrentState extends StateData {
  readonly state: LifecycleState
}

/** The state machine of one extension: the only writer of the state and its data. `LIFECYCLE` has the transitions. */
export class Lifecycle {
  readonly #extensionId: string
  readonly #generation: number
  readonly #events: EventBus
  #current: CurrentState = { state: 'validated', compartment: undefined, fault: undefined }

  constructor(extensionId: string, generation: number, events: EventBus) {
    this.#extensionId = extensionId
    this.#generation = generation
    this.#events = events
  }

  get current(): CurrentState {
    return this.#current
  }

  get state(): LifecycleState {
    return this.#current.state
  }

  /** The next state keeps the data by default. Throws LifecyclePhaseInvalid, and then changes nothing. */
  signal(signal: LifecycleSignal, { compartment, fault }: StateData = this.#current): void {
    const from = this.#current.state
    const to = nextState(from, signal)
    if (to === undefined) {
      const message = `The extension "${this.#extensionId}" is ${from}; "${signal}" cannot follow.`
      throw new BulkheadError('LifecyclePhaseInvalid', message, { data: { state: from, signal } })
    }
    this.#current = { state: to, compartment, fault }
    const [extensionId, generation] = [this.#extensionId, this.#generation]
    this.#events.emit({ type: 'LifecycleStateChanged', extensionId, generation, from, to })
  }

  /** The compartment is about to be closed, or has ended. Its end is no longer a transition. */
  release(): void {
    const { state, fault } = this.#current
    this.#current = { state, compartment: undefined, fault }
  }
}

interface PhaseSources {
  readonly descriptor: ExtensionDescriptor
  readonly arrangement: Arrangement
  readonly events: EventBus
  readonly clock: Clock
}

/** Runs one phase, and emits its start and end. Rejects with LifecycleFailure, or with the error of the compartment. */
export async function runPhase(
  phase: LifecyclePhase, compartment: CompartmentSession, { descriptor, events, clock, arrangement }: PhaseSources,
): Promise<void> {
  const { id: extensionId } = descriptor
  const began = clock.monotonic()
  const end = (error: BulkheadError | undefined) => events.emit({
    type: 'LifecyclePhaseEnd', extensionId, phase, durationMs: clock.monotonic() - began,
    ok: error === undefined, errorCode: error?.code ?? null, message: error?.message ?? '',
  })
  events.emit({ type: 'LifecyclePhaseStart', extensionId, phase })
  try {
    const work = compartment.lifecycle(phase)
    // The compartment has its own deadline. This one is for a compartment that misses it. `init` may ask a person.
    const mostMs = phase === 'init' ? Infinity : 2 * arrangement.limits.phaseMs
    if (mostMs < Infinity && !await settlesWithin(clock, mostMs, work)) throw overdue(extensionId, phase, mostMs)
    await work
    end(undefined)
  } catch (thrown) {
    const error = BulkheadError.from(thrown, 'LifecycleFailure')
    end(error)
    throw attributed(error, extensionId, phase)
  }
}

/** Adds extension and phase, which the thrown error does not name. */
function attributed(error: BulkheadError, extension: string, phase: LifecyclePhase): BulkheadError {
  if (error.code !== 'LifecycleFailure') return error
  const message = `The phase ${phase} of "${extension}" failed: ${error.message}`
  return new BulkheadError('LifecycleFailure', message, { cause: error, data: { extension } })
}

function overdue(extension: string, phase: LifecyclePhase, ms: number): BulkheadError {
  const message = `The phase ${phase} of "${extension}" did not end within ${ms} ms.`
  return new BulkheadError('LifecycleTimeout', message, { data: { extension } })
}
