import type { Clock, CompartmentServices, CompartmentTool, ExtensionDescriptor, InteractionRequest, InteractionResponse, Sandbox } from '@bulkhead/contract'
import type { RunningCalls } from '../running-calls.ts'
import type { Arrangement } from '../../model/placement.ts'
import type { EventBus } from '../../records/events.ts'

/** What an extension is made of, and what it lives by. */
export interface ExtensionParts {
  readonly descriptor: ExtensionDescriptor
  readonly generation: number
  readonly arrangement: Arrangement
  readonly tools: readonly CompartmentTool[]
  /** Made anew for each start, so that variables have the values of that moment. */
  readonly services: () => CompartmentServices
  readonly running: RunningCalls
  /** Those it depends on, looked up when it starts: they may have been replaced since. */
  readonly dependencies: () => readonly { start(starter?: Starter): Promise<unknown> }[]
  readonly sandbox: Sandbox
  readonly events: EventBus
  readonly clock: Clock
}

/** Answers questions of the phase `init`: the interactor of the caller that starts the extension. */
export interface Starter {
  raise(request: InteractionRequest, source: string, signal: AbortSignal): Promise<InteractionResponse>
}
