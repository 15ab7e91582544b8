import type { Clock, CompartmentServices, CompartmentTool, ExtensionDescriptor, Sandbox } from '@bulkhead/contract'
import type { RunningCalls } from '../running-calls.ts'
import type { Arrangement } from '../../model/configuration/placement.ts'
import type { EventBus } from '../../records/events.ts'
import type { Interactions } from '../../policy/interaction/interactions.ts'
import type { Extension } from './extension.ts'

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
  readonly dependencies: () => readonly Extension[]
  readonly sandbox: Sandbox
  readonly events: EventBus
  readonly clock: Clock
}

/** Whom the phase `init` asks: the person of whoever starts the extension. */
export type Starter = Pick<Interactions, 'ask'>
