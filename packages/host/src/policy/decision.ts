import type { KeptApproval } from './approvals/kept-approval.ts'
import type { CallAnalysis } from './model/checked-call.ts'
import type { DecisionStage, Verdict } from './model/verdict.ts'

/** Every verdict on a call, in order, and the one that holds. */
export interface Decision {
  readonly verdicts: readonly Verdict[]
  /** An `ask` holds only if nothing but a person's answer to this call settles it. */
  readonly verdict: Verdict
  readonly analysis: CallAnalysis
  /** What asks, without what the mode or the allowlist answers. */
  readonly asks: readonly Verdict[]
  /** For an ask: whether an approval answers it. */
  readonly answerable: boolean
  /** The approvals that answer it. */
  readonly approvals?: readonly KeptApproval[] | undefined
  /** The revision of the approvals that it rests on, if it rests on approvals of the project. */
  readonly revision?: number | undefined
}

/** Which stage changed the arguments, and why. `before` and `after` are digests. */
export interface MadeChange {
  readonly stage: DecisionStage
  readonly source: string
  readonly reason: string
  readonly before: string
  readonly after: string
}
