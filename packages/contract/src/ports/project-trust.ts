import type { Diagnostic } from '../diagnostic.ts'

/** trusted and declined last until something else is said. once: for the next start. revoked: as if nothing had been said. */
export const TRUST_DECISIONS = ['trusted', 'declined', 'once', 'revoked'] as const
export type TrustDecision = (typeof TRUST_DECISIONS)[number]

/** What somebody has said of a project. */
export interface TrustRecord {
  /** The canonical path of the workspace. */
  readonly path: string
  readonly decision: TrustDecision
  /** ISO 8601. */
  readonly decidedAt: string
  /** What was trusted: lower-case hex sha512 over all that would be used of the project. null for what needs no content. */
  readonly digest: string | null
}

/** What the record says of a workspace as it is now. */
export type TrustStanding =
  /** It has no layer of its own, so there is nothing to ask. */
  | { readonly kind: 'nothing' }
  /** Nobody has said anything that still counts; nothing of it was read. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'declined'; readonly since: string }
  /** It was trusted, and is not what it was. */
  | { readonly kind: 'changed'; readonly since: string }
  | { readonly kind: 'trusted' | 'once'; readonly since: string; readonly digest: string }

export interface TrustReport {
  readonly standing: TrustStanding
  /** Lines of the record that could not be read, and whatever kept it from being read at all. */
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * The record of trusted projects. It is outside every project and only ever added to. Nothing of a project is read before
 * somebody trusts it: its content is bound at that moment, and compared again only for projects that were trusted.
 */
export interface TrustLedger {
  /** Contract: rejects only for a workspace that cannot be opened. A record that cannot be read knows nobody. */
  standing(workspace: string): Promise<TrustReport>
  /** Rejects with TrustStoreUnavailable, or TrustScopeViolation when the record would lie inside the project. */
  decide(workspace: string, decision: TrustDecision): Promise<TrustRecord>
  /** Takes up a decision for one start. false when another start was quicker: then nobody has said anything. */
  takeUp(workspace: string): Promise<boolean>
  /** The last word on each project, by path. */
  list(): Promise<{ readonly records: readonly TrustRecord[]; readonly diagnostics: readonly Diagnostic[] }>
}
