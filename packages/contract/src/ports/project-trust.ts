import type { Diagnostic } from '../model/bulkhead-error.ts'

export type ProjectTrust = 'trusted' | 'declined' | 'once'

/** A decision about a project layer and the content that it applies to. */
export interface ProjectStanding {
  readonly trust: ProjectTrust
  /** Lower-case hex sha512 of that content. `any`: any content, now and later, on the embedder's responsibility. */
  readonly projectDigest: string
}

/** Whether content of a project layer may be used. Checked for every load and reload. */
export const mayLoad = (layerDigest: string, { trust, projectDigest }: ProjectStanding): boolean =>
  trust !== 'declined' && (projectDigest === 'any' || projectDigest === layerDigest)

/** trusted and declined last until the next decision. once: for the next start. revoked: removes the decision. */
export const TRUST_DECISIONS = ['trusted', 'declined', 'once', 'revoked'] as const
export type TrustDecision = (typeof TRUST_DECISIONS)[number]

/** One decision about a project. */
export interface TrustRecord {
  /** The canonical path of the workspace. */
  readonly path: string
  readonly decision: TrustDecision
  /** ISO 8601. */
  readonly decidedAt: string
  /**
   * Lower-case hex sha512 of everything in the project that would be used. null for revoked, and in older records for
   * declined, which then applies to any content.
   */
  readonly digest: string | null
}

/** The decision that applies to the current content of a workspace. */
export type TrustStanding =
  /** There is no project layer. The digest is that of an empty layer, so a layer that appears later is not covered. */
  | { readonly kind: 'nothing'; readonly digest: string }
  /** There is no valid decision. Nothing of the layer was read. */
  | { readonly kind: 'unknown' }
  /** The content changed after the decision. */
  | { readonly kind: 'changed'; readonly since: string }
  /** The digest is `any` for declined in an older record. */
  | { readonly kind: 'trusted' | 'once' | 'declined'; readonly since: string; readonly digest: string }

export interface TrustReport {
  readonly standing: TrustStanding
  /** Unreadable lines of the record, or the reason that it could not be read. */
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * The record of decisions about projects: outside every project, and append-only. Each decision applies to one content,
 * identified by its hash. Hashing uses nothing of the project.
 */
export interface TrustLedger {
  /** Contract: rejects only if the workspace cannot be opened. An unreadable record contains no decision. */
  standing(workspace: string): Promise<TrustReport>
  /**
   * `seen`: the digest of the content that the decision applies to. Default: the current content. Rejects with
   * TrustStoreUnavailable, or TrustScopeViolation if the record would be inside the project.
   */
  decide(workspace: string, decision: TrustDecision, seen?: string): Promise<TrustRecord>
  /** The digest of the current project layer. Uses nothing of it. */
  measure(workspace: string): Promise<string>
  /** Uses up a decision of the kind once. false if another start already did. */
  takeUp(workspace: string): Promise<boolean>
  /** The latest decision on each project, by path. */
  list(): Promise<{ readonly records: readonly TrustRecord[]; readonly diagnostics: readonly Diagnostic[] }>
}
