import type { JsonObject } from '@bulkhead/kit/json'
import type { DecidedBy } from './calls.ts'
import type { RuleDraft } from './waiting.ts'

/** `GET api/policy` */
export interface PolicyView {
  readonly mode: string
  readonly headline: PolicyHeadline
  /** In the order in which they are listed by `bulkhead policy`. */
  readonly rules: readonly RuleItem[]
  /** What lint found, worst first. */
  readonly findings: readonly PolicyFinding[]
  readonly questions: readonly AskedOften[]
  readonly approvals: readonly ApprovalItem[]
}

export interface PolicyHeadline {
  readonly calls: number
  readonly questions: number
  readonly questionsPer100: number
  /** For how long people were waited for. */
  readonly waitedMinutes: number
  /** Which calls were counted, in words: "the last 30 days". */
  readonly span: string
}

export interface RuleItem extends RuleDraft {
  readonly id: string
  /** user, project, embedder, machine or bundled. */
  readonly author: string
  readonly line?: number
  readonly hits: number
  readonly lastAt?: number
  /** Why it can never decide. */
  readonly cannotWin?: string
}

export interface PolicyFinding {
  readonly kind: string
  readonly words: string
  readonly file?: string
  readonly line?: number
}

/** A question that came more than once, or cost time, and what would have avoided it. */
export interface AskedOften {
  readonly tool: string
  /** What was asked about. */
  readonly subject: string
  readonly times: number
  readonly waitedMs: number
  readonly rejected: number
  /** The smallest rule that would have avoided it. */
  readonly rule?: RuleDraft
  /** What else that rule would allow, in words. Empty: nothing. */
  readonly alsoAllows: readonly string[]
  readonly others?: OtherCalls
  /** A rule one step wider. Absent where there is none. */
  readonly wider?: WiderRule
}

/** Recorded calls that a rule would have allowed unasked besides those that asked the question. */
export interface OtherCalls {
  /** How many of them were asked about, and how many were denied. */
  readonly asked: number
  readonly denied: number
  /** What some of them were for. */
  readonly examples: readonly string[]
  /** So many were compared by what they were for only: the audit has no arguments by which the policy could decide them again. */
  readonly byKey: number
}

export interface WiderRule {
  readonly rule: RuleDraft
  /** How many of all questions it would have avoided. */
  readonly times: number
  /** What else it would allow, in words. */
  readonly alsoAllows: readonly string[]
  readonly others: OtherCalls
}

/** An approval that lasts. */
export interface ApprovalItem {
  readonly id: string
  readonly scope: 'session' | 'project'
  readonly tool: string
  readonly covers: string
  readonly grantedAt: number
  readonly grantedBy: string
  readonly expiresAt?: number
  readonly uses: number
  /** used: it has allowed as many calls as it may. */
  readonly status: 'standing' | 'expired' | 'revoked' | 'used'
}

/** `POST api/policy/try`. Asks no person and runs nothing. */
export interface TryCall {
  readonly tool: string
  readonly arguments: JsonObject
  readonly session?: string
}

export interface TriedCall {
  readonly decision: 'allow' | 'ask' | 'deny'
  readonly code?: string
  readonly chain: readonly DecidedBy[]
  readonly remedies: readonly string[]
  /** The wall around its commands. */
  readonly wall?: string
}
