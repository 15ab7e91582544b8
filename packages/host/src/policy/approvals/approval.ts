import type { Layer, OutcomeOrigin } from '@bulkhead/contract'
import { toolIdentity, type ToolDigests, type ToolEntry } from '../../extensions/registry/tool-entry.ts'
import { sha256 } from '../../model/sha256.ts'

export type ApprovalScope = 'session' | 'project'

/** What a person approved for longer than one call. */
export interface ApprovalGrant {
  readonly id: string
  readonly scope: ApprovalScope
  readonly tool: string
  readonly approvalKey: string
  /** Who implements the tool. */
  readonly origin: OutcomeOrigin
  /** The tools that make the call, from the first. Absent for calls of the model: neither covers the other. */
  readonly callers?: readonly ApprovedCaller[]
  /** It is bound to these too: if one of them changes, the approval no longer holds. */
  readonly digests: ToolDigests
  readonly workspace: string
  /** The session in which it was given. */
  readonly sessionId: string
  readonly grantedAt: string
  readonly grantedBy: string
  /** null: it ends with the session. */
  readonly expiresAt: string | null
}

/** A tool that makes the approved call. */
export interface ApprovedCaller {
  readonly tool: string
  readonly extension: string
  readonly layer: Layer
  /** Of everything that an approval of its calls is bound to. */
  readonly digest: string
}

/** A tool that is called, and the tools that call it, from the first. */
export interface Called {
  readonly tool: ToolEntry
  readonly callers: readonly ToolEntry[]
}

/** How an approval ended. */
export interface ApprovalEnd {
  readonly how: 'expired' | 'revoked'
  readonly at: string
  readonly by?: string
}

/** An approval with its status and use. */
export interface Approval extends ApprovalGrant {
  readonly status: 'standing' | ApprovalEnd['how']
  readonly ended: ApprovalEnd | null
  /** How many calls it has allowed. */
  readonly uses: number
  readonly lastUsedAt: string | null
}

/** An approval as stored. One that has expired has ended, even if the store does not say so. */
export type StoredApproval = Omit<Approval, 'status'>

export interface GrantSources {
  readonly scope: ApprovalScope
  readonly called: Called
  readonly approvalKey: string
  readonly workspace: string
  readonly sessionId: string
  readonly by: string
  readonly now: number
  readonly lastsMs: number | undefined
}

export function makeGrant({ scope, called, approvalKey, workspace, sessionId, by, now, lastsMs }: GrantSources): ApprovalGrant {
  const { tool, callers } = called
  const place = scope === 'session' ? sessionId : workspace
  return {
    id: idOf(scope, place, identityOfCalled(called), approvalKey),
    scope, tool: tool.name, approvalKey, workspace, sessionId,
    origin: tool.origin,
    digests: tool.digests,
    ...(callers.length > 0 && { callers: callers.map(approvedCaller) }),
    grantedAt: new Date(now).toISOString(),
    grantedBy: by,
    expiresAt: lastsMs === undefined ? null : new Date(now + lastsMs).toISOString(),
  }
}

/** `place`: the session or the folder that it is for. */
export const idOf = (scope: ApprovalScope, place: string, identity: string, approvalKey: string): string =>
  sha256([scope, place, identity, approvalKey].join('\0')).slice(0, 12)

type Bound = Pick<ApprovalGrant, 'tool' | 'origin' | 'digests' | 'callers'>

/** What an approval is bound to besides its key: the extension, its bytes, definition and capabilities, and the callers. */
export const identityOf = ({ tool, origin, digests, callers = [] }: Bound): string =>
  [toolIdentity(tool, origin, digests), ...callers.map(({ digest }) => digest)].join('\0')

/** The same for a call. */
export const identityOfCalled = ({ tool, callers }: Called): string =>
  callers.length === 0 ? tool.identity : [tool.identity, ...callers.map((caller) => sha256(caller.identity))].join('\0')

const approvedCaller = ({ name, identity, origin: { extension, layer } }: ToolEntry): ApprovedCaller =>
  ({ tool: name, extension, layer, digest: sha256(identity) })

/** Where the store keeps the approvals of a project. */
export const projectPrefix = (workspace: string): string => `${sha256(workspace)}/`
export const storeKey = (grant: ApprovalGrant): string => `${projectPrefix(grant.workspace)}${grant.id}`

/** Small corrections of the clock end no approval. */
const CORRECTION_MS = 60_000

/** When it holds. If the clock was set back to before it was given, it is over: it would last too long. */
export function spanOf({ grantedAt, expiresAt }: ApprovalGrant): { readonly from: number; readonly until: number } {
  if (expiresAt === null) return { from: -Infinity, until: Infinity }
  return { from: Date.parse(grantedAt) - CORRECTION_MS, until: Date.parse(expiresAt) }
}

export function viewOf(stored: StoredApproval, now: number): Approval {
  const { from, until } = spanOf(stored)
  const isOver = now < from || now >= until
  const ended = stored.ended ?? (isOver ? { how: 'expired' as const, at: stored.expiresAt ?? '' } : null)
  return { ...stored, ended, status: ended?.how ?? 'standing' }
}

/** Oldest first. */
export const byAge = (a: ApprovalGrant, b: ApprovalGrant): number =>
  a.grantedAt < b.grantedAt ? -1 : a.grantedAt > b.grantedAt ? 1 : a.id < b.id ? -1 : 1

/** The fields of every event of an approval. */
export const eventFieldsOf = ({ id: approvalId, scope, tool, approvalKey, origin }: ApprovalGrant) =>
  ({ approvalId, scope, tool, approvalKey, origin })
