import { BulkheadError, type ErrorCode, type RuleAction } from '@bulkhead/contract'

export const DECISION_STAGES = ['capability', 'role', 'rules', 'watchdog', 'tool-mode', 'security-mode', 'guard', 'approval'] as const
/** Who spoke, in the order they are heard. */
export type DecisionStage = (typeof DECISION_STAGES)[number]

/** What one stage of the permission stack says of a call. */
export interface Verdict {
  readonly action: RuleAction
  readonly stage: DecisionStage
  /** The rule, flag, mode or function that spoke. */
  readonly source: string
  readonly reason: string
  /** For a deny: the error the caller gets. */
  readonly code: ErrorCode
  /**
   * For an ask: whether an approval given before answers it. A watchdog or guard asks because of these very arguments,
   * so only a fresh word does.
   */
  readonly answeredByApproval: boolean
}

/** What became of all verdicts, and of the person's word. */
export interface Decision {
  readonly action: 'allow' | 'deny'
  readonly stage: DecisionStage
  readonly source: string
  readonly reason: string
  readonly approvalKey: string
}

export const deny = (stage: DecisionStage, code: ErrorCode, source: string, reason: string): Verdict =>
  ({ action: 'deny', stage, source, reason, code, answeredByApproval: false })

export const ask = (stage: DecisionStage, source: string, reason: string, answeredByApproval: boolean): Verdict =>
  ({ action: 'ask', stage, source, reason, code: 'ApprovalDenied', answeredByApproval })

export const allow = (stage: DecisionStage, source: string, reason: string): Verdict =>
  ({ action: 'allow', stage, source, reason, code: 'InternalError', answeredByApproval: true })

/** The strictest holds; of equals the one heard first. */
export function strictest(verdicts: readonly Verdict[]): Verdict | undefined {
  return verdicts.find(({ action }) => action === 'deny') ?? verdicts.find(({ action }) => action === 'ask') ?? verdicts[0]
}

export const refusalOf = (verdict: Verdict, tool: string): BulkheadError =>
  new BulkheadError(verdict.code, `The call of "${tool}" was refused: ${verdict.reason}.`, { data: { stage: verdict.stage, source: verdict.source } })
