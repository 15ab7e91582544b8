import type { ArgumentsReader, Clock } from '@bulkhead/contract'
import type { EventBus } from './events.ts'
import type { Registry } from './registry.ts'

/** Where results that are too long for a model are kept whole. */
export interface Sidecar {
  /** Resolves with the path a person can open. */
  save(sessionId: string, callId: string, text: string): Promise<string>
  /** Removes everything of a session that has closed. */
  discard?(sessionId: string): Promise<void>
}

/** What the stages of a call know of the host. */
export interface HostContext {
  readonly registry: Registry
  readonly events: EventBus
  readonly clock: Clock
  readonly sidecar: Sidecar | undefined
  /** By the name of the tool; what a call of it stands for is told by these and not by the tool. */
  readonly argumentsReaders: ReadonlyMap<string, ArgumentsReader>
  readonly workspace: string
}
