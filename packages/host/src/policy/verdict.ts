import { BulkheadError, powerPhrases, type ErrorCode, type PowerItem, type RuleAction } from '@bulkhead/contract'
import type { StagePermit } from './stage-permit.ts'

/** The stages of a decision, in their order. */
export type DecisionStage =
  | 'capability' | 'role' | 'rules' | 'tool-mode' | 'watchdog' | 'state-machine' | 'security-mode' | 'guard' | 'budget'
  | 'audit' | 'approval'

/** What one stage decides about a call. */
export interface Verdict {
  readonly action: RuleAction
  readonly stage: DecisionStage
  /** The rule, flag, mode or function that decided. */
  readonly source: string
  readonly reason: string
  /** For a deny: the code of the error that the caller gets. */
  readonly code: ErrorCode
  /** For a deny: the whole error, if it has more detail than this verdict. */
  readonly error?: BulkheadError
  /** For a deny: what to do, in a sentence, if the advice of the code does not help. */
  readonly cure?: string
  /**
   * For an ask: whether an earlier approval answers it. A watchdog or guard asks because of these arguments, so it does
   * not.
   */
  readonly answeredByApproval: boolean
  /** From a state machine: what the call needs to run. For an ask, a person has to grant it. */
  readonly permit?: StagePermit
}

export const deny = (stage: DecisionStage, code: ErrorCode, source: string, reason: string): Verdict =>
  ({ action: 'deny', stage, source, reason, code, answeredByApproval: false })

export const ask = (stage: DecisionStage, source: string, reason: string, answeredByApproval: boolean): Verdict =>
  ({ action: 'ask', stage, source, reason, code: 'ApprovalDenied', answeredByApproval })

export const allow = (stage: DecisionStage, source: string, reason: string): Verdict =>
  ({ action: 'allow', stage, source, reason, code: 'InternalError', answeredByApproval: true })

/** A ceiling does not allow `more`. `bySession`: the ceiling of the configuration would. */
export function ceilingVerdict(more: readonly Pick<PowerItem, 'kind' | 'subject'>[], bySession: boolean): Verdict {
  const ceiling = bySession ? 'ceiling of the session' : 'policy.ceiling'
  const cure = 'Call a tool that can do less, or ask the operator to raise the ceiling.'
  const reason = `it may reach beyond the ${ceiling}: ${powerPhrases(more, 'may').join('; ')}`
  return { ...deny('capability', 'CapabilityDenied', ceiling, reason), cure }
}

/** The verdict on an ask that no one can answer. */
export const headless = (reason = 'it requires approval, and no one is there to ask'): Verdict =>
  deny('approval', 'ApprovalDenied', 'headless', reason)

/** The strictest verdict; of equals, the first. */
export function strictest(verdicts: readonly Verdict[]): Verdict | undefined {
  let strict = verdicts[0]
  for (const verdict of verdicts) {
    if (verdict.action === 'deny') return verdict
    if (verdict.action === 'ask' && strict!.action !== 'ask') strict = verdict
  }
  return strict
}

/** The error of a deny. */
export function errorOf({ code, reason, cure, stage, source, error }: Verdict, tool: string): BulkheadError {
  if (error) return error
  const message = `The call of "${tool}" was refused: ${reason.replace(/\.$/, '')}.`
  return new BulkheadError(code, cure === undefined ? message : `${message} ${cure}`, { data: { stage, source } })
}
