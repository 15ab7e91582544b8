import type { SessionApprovals } from '../policy/approvals/session-approvals.ts'
import type { HookChain } from '../calls/hooks/hook-chain.ts'
import type { Interactions } from '../policy/interaction/interactions.ts'
import type { PausedCalls } from '../policy/interaction/paused-calls.ts'
import type { SessionPolicy } from '../policy/session-policy.ts'

/** What the stages of a call know of the session it belongs to. */
export interface SessionScope {
  readonly id: string
  readonly policy: SessionPolicy
  readonly approvals: SessionApprovals
  readonly interactions: Interactions
  /** Where questions go that nobody answers; absent where they fail. */
  readonly paused: PausedCalls | undefined
  readonly hooks: HookChain
}
