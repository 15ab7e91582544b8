import type { SessionApprovals } from './approvals/session-approvals.ts'
import type { Hooks } from '../model/hooks.ts'
import type { Interactions } from './interaction/interactions.ts'
import type { PausedCalls } from './interaction/paused-calls.ts'
import type { SessionPolicy } from './session-policy.ts'

/** What the stages of a call know of the session it belongs to. */
export interface SessionScope {
  readonly id: string
  readonly policy: SessionPolicy
  readonly approvals: SessionApprovals
  readonly interactions: Interactions
  /** Where questions go that nobody answers; absent where they fail. */
  readonly paused: PausedCalls | undefined
  readonly hooks: { readonly all: readonly Hooks[] }
}
