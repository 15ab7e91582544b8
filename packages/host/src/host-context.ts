import type { Clock } from '@bulkhead/contract'
import type { EventBus } from './events.ts'
import type { Registry } from './registry.ts'
import type { ActiveTurns } from './sessions/active-turns.ts'
import type { Workflows } from './sessions/workflows.ts'

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
  readonly turns: ActiveTurns
  readonly workflows: Workflows
  readonly sidecar: Sidecar | undefined
}
