import { BulkheadError, type ErrorCode, type RuleAction } from '@bulkhead/contract'
import type { StagePermit } from './stage-permit.ts'

/** Who spoke, in the order they are heard. */
export type DecisionStage =
  'capability' | 'role' | 'rules' | 'tool-mode' | 'watchdog' | 'state-machine' | 'security-mode' | 'guard' | 'budget' | 'approval'

/** What one stage of the permission stack says of a call. */
export interface Verdict {
  readonly action: RuleAction
  readonly stage: DecisionStage
  /** The rule, flag, mode or function that spoke. */
  readonly source: string
  readonly reason: string
  /** For a deny: the error the caller gets. */
  readonly code: ErrorCode
  /** For a deny: the whole error, where the caller gets one that says more than this verdict. */
  readonly error?: BulkheadError
  /** For a deny: what to do, in a sentence, where the advice that goes with the code would not help. */
  readonly cure?: string
  /**
   * For an ask: whether an approval given before answers it. A watchdog or guard asks because of these very arguments,
   * so only a fresh word does.
   */
  readonly answeredByApproval: boolean
  /** Of a state machine: what the call needs to run, which for an ask a person has to give. */
  readonly permit?: StagePermit
}

/** Why a call is allowed: what became of all verdicts, and of the person's word. */
export interface Decision {
  readonly stage: DecisionStage
  readonly source: string
  readonly reason: string
  readonly approvalKey: string
  /** Used up when the call begins to run. */
  readonly permits?: readonly StagePermit[]
}

export const deny = (stage: DecisionStage, code: ErrorCode, source: string, reason: string): Verdict =>
  ({ action: 'deny', stage, source, reason, code, answeredByApproval: false })

export const ask = (stage: DecisionStage, source: string, reason: string, answeredByApproval: boolean): Verdict =>
  ({ action: 'ask', stage, source, reason, code: 'ApprovalDenied', answeredByApproval })

export const allow = (stage: DecisionStage, source: string, reason: string): Verdict =>
  ({ action: 'allow', stage, source, reason, code: 'InternalError', answeredByApproval: true })

/** A ceiling does not allow these, one line each. `bySession`: the one of the configuration would. */
export function ceilingVerdict(more: readonly string[], bySession: boolean): Verdict {
  const ceiling = bySession ? 'ceiling of the session' : 'policy.ceiling'
  const cure = 'Call a tool that can do less, or ask the operator to raise the ceiling.'
  return { ...deny('capability', 'CapabilityDenied', ceiling, `it may reach beyond the ${ceiling}: ${more.join('; ')}`), cure }
}

/** What becomes of an ask where nobody can answer it. */
export const headless = (reason = 'a person would have to agree and nobody is there to be asked'): Verdict =>
  deny('approval', 'ApprovalDenied', 'headless', reason)

/** The strictest holds; of equals the one heard first. */
export function strictest(verdicts: readonly Verdict[]): Verdict | undefined {
  let strict = verdicts[0]
  for (const verdict of verdicts) {
    if (verdict.action === 'deny') return verdict
    if (verdict.action === 'ask' && strict!.action !== 'ask') strict = verdict
  }
  return strict
}

export function refusalOf({ code, reason, cure, stage, source, error }: Verdict, tool: string): BulkheadError {
  if (error) return error
  const message = `The call of "${tool}" was refused: ${reason.replace(/\.$/, '')}.`
  return new BulkheadError(code, cure === undefined ? message : `${message} ${cure}`, { data: { stage, source } })
}
