import type { Diagnostic } from '../model/diagnostic.ts'

export type ProjectTrust = 'trusted' | 'declined' | 'once'

/** A decision about a project layer, together with the content that it was made about. */
export interface ProjectStanding {
  readonly trust: ProjectTrust
  /** Lower-case hex sha512 of that content. `any`: the embedder answers for whatever is there, now and later. */
  readonly projectDigest: string
}

/** The one decision whether content of a project layer may be used. Every load and reload asks again. */
export const mayLoad = (layerDigest: string, { trust, projectDigest }: ProjectStanding): boolean =>
  trust !== 'declined' && (projectDigest === 'any' || projectDigest === layerDigest)

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
  /**
   * What the decision is about: lower-case hex sha512 over all that would be used of the project. null for revoked, and in older
   * records for declined, which then stands for any content.
   */
  readonly digest: string | null
}

/** What the record says of a workspace as it is now. Each decision stands for the content it was made about, and for no other. */
export type TrustStanding =
  /** It has no layer of its own, so there is nothing to ask. The digest is that of an empty layer: one that appears later is not covered. */
  | { readonly kind: 'nothing'; readonly digest: string }
  /** Nobody has said anything that still counts; nothing of it was read. */
  | { readonly kind: 'unknown' }
  /** It was decided about, and is not what it was. */
  | { readonly kind: 'changed'; readonly since: string }
  /** A decline in an older record has the digest `any`. */
  | { readonly kind: 'trusted' | 'once' | 'declined'; readonly since: string; readonly digest: string }

export interface TrustReport {
  readonly standing: TrustStanding
  /** Lines of the record that could not be read, and whatever kept it from being read at all. */
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * The record of decisions about projects. It is outside every project and only ever added to. A decision names the content it is
 * about. A project is hashed when it is decided about, and compared when there is a decision; nothing of it is used for that.
 */
export interface TrustLedger {
  /** Contract: rejects only for a workspace that cannot be opened. A record that cannot be read knows nobody. */
  standing(workspace: string): Promise<TrustReport>
  /**
   * `seen`: the digest of what the decision is about. Default: what is there now. Rejects with TrustStoreUnavailable, or
   * TrustScopeViolation when the record would lie inside the project.
   */
  decide(workspace: string, decision: TrustDecision, seen?: string): Promise<TrustRecord>
  /** The digest of the project layer as it is now, without using anything of it. */
  measure(workspace: string): Promise<string>
  /** Takes up a decision for one start. false when another start was quicker: then nobody has said anything. */
  takeUp(workspace: string): Promise<boolean>
  /** The last word on each project, by path. */
  list(): Promise<{ readonly records: readonly TrustRecord[]; readonly diagnostics: readonly Diagnostic[] }>
}
