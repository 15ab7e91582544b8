import type { Layer, OutcomeOrigin } from '@bulkhead/contract'
import { toolIdentity, type ToolDigests, type ToolEntry } from '../../extensions/registry/tool-entry.ts'
import { sha256 } from '../../model/sha256.ts'

export type ApprovalScope = 'session' | 'project'

/** What a person has agreed to for longer than one call. */
export interface ApprovalGrant {
  readonly id: string
  readonly scope: ApprovalScope
  readonly tool: string
  readonly approvalKey: string
  /** Who implements the tool. */
  readonly origin: OutcomeOrigin
  /** The tools that make the call, from the first. Absent for calls of the model itself: neither answers for the other. */
  readonly callers?: readonly ApprovedCaller[]
  /** What it is bound to besides: when one of these becomes another, it is asked again. */
  readonly digests: ToolDigests
  readonly workspace: string
  /** The session it was given in. */
  readonly sessionId: string
  readonly grantedAt: string
  readonly grantedBy: string
  /** null: with the session. */
  readonly expiresAt: string | null
}

/** A tool that makes the approved call. */
export interface ApprovedCaller {
  readonly tool: string
  readonly extension: string
  readonly layer: Layer
  /** Of all that an approval of a call of it is bound to: when it changes, it is asked again. */
  readonly digest: string
}

/** A tool that is called, and the tools that call it, from the first. */
export interface Called {
  readonly tool: ToolEntry
  readonly callers: readonly ToolEntry[]
}

/** How an approval came to its end. */
export interface ApprovalEnd {
  readonly how: 'expired' | 'revoked'
  readonly at: string
  readonly by?: string
}

/** An approval for whoever looks after them. */
export interface Approval extends ApprovalGrant {
  readonly status: 'standing' | ApprovalEnd['how']
  readonly ended: ApprovalEnd | null
  /** Calls that it let through. */
  readonly uses: number
  readonly lastUsedAt: string | null
}

/** As the store has it: what has expired need not be written there to have ended. */
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

/** `place`: the session or the folder that it is given for. */
export const idOf = (scope: ApprovalScope, place: string, identity: string, approvalKey: string): string =>
  sha256([scope, place, identity, approvalKey].join('\0')).slice(0, 12)

type Bound = Pick<ApprovalGrant, 'tool' | 'origin' | 'digests' | 'callers'>

/** What an approval is bound to besides its key: who implements the name, in which bytes, saying and wanting what, and who calls it. */
export const identityOf = ({ tool, origin, digests, callers = [] }: Bound): string =>
  [toolIdentity(tool, origin, digests), ...callers.map(({ digest }) => digest)].join('\0')

/** The same of a call. */
export const identityOfCalled = ({ tool, callers }: Called): string =>
  callers.length === 0 ? tool.identity : [tool.identity, ...callers.map((caller) => sha256(caller.identity))].join('\0')

const approvedCaller = ({ name, identity, origin: { extension, layer } }: ToolEntry): ApprovedCaller =>
  ({ tool: name, extension, layer, digest: sha256(identity) })

/** Where the store keeps the approvals of a project. */
export const projectPrefix = (workspace: string): string => `${sha256(workspace)}/`
export const storeKey = (grant: ApprovalGrant): string => `${projectPrefix(grant.workspace)}${grant.id}`

/** Clocks are corrected all the time, by little: that ends nothing. */
const CORRECTION_MS = 60_000

/** From when until when it counts. A clock that was set back before it was given would make it last longer: then it is over. */
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

/** From the oldest. */
export const byAge = (a: ApprovalGrant, b: ApprovalGrant): number =>
  a.grantedAt < b.grantedAt ? -1 : a.grantedAt > b.grantedAt ? 1 : a.id < b.id ? -1 : 1

/** The fields every event of an approval carries. */
export const eventFieldsOf = ({ id: approvalId, scope, tool, approvalKey, origin }: ApprovalGrant) =>
  ({ approvalId, scope, tool, approvalKey, origin })
