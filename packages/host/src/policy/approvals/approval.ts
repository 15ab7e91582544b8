import { hash } from 'node:crypto'
import type { Layer, OutcomeOrigin } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { MODE_QUESTION } from '../model/verdict.ts'
import { toolIdentity, type ToolDigests, type ToolEntry } from '../../extensions/registry/tool-entry.ts'

export type ApprovalScope = 'session' | 'project'

/** What a person approved for longer than one call. */
export interface ApprovalGrant {
  readonly id: string
  readonly scope: ApprovalScope
  readonly tool: string
  readonly approvalKey: string
  /** What the key covers, in words. Absent for approvals of earlier versions. */
  readonly covers?: string
  /** Who implements the tool. */
  readonly origin: OutcomeOrigin
  /** The tools that make the call, from the first. Absent for calls of the model: neither covers the other. */
  readonly callers?: readonly ApprovedCaller[]
  /** What asked when it was given. Absent: the mode. It answers nothing else. */
  readonly answers?: readonly string[]
  /** It is bound to these too: if one of them changes, the approval no longer holds. */
  readonly digests: ToolDigests
  readonly workspace: string
  /** The session in which it was given. */
  readonly sessionId: string
  /** Whose sessions it is for. Absent: those without a principal. Neither covers the other. */
  readonly principal?: string
  readonly grantedAt: string
  readonly grantedBy: string
  /** null: it ends with the session. */
  readonly expiresAt: string | null
  /** How many calls it allows, with the one that it was given to. Absent: any number. */
  readonly maxUses?: number
  /** The person chose when it ends. */
  readonly until?: string
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
  /** used: it has allowed as many calls as it may. */
  readonly how: 'expired' | 'revoked' | 'used'
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
  readonly covers: string
  readonly answers: readonly string[]
  readonly workspace: string
  readonly sessionId: string
  readonly principal: string | undefined
  readonly by: string
  readonly now: number
  readonly lastsMs: number | undefined
  /** Milliseconds since 1970: what the answer says. It ends no later. */
  readonly until?: number | undefined
  readonly maxUses?: number | undefined
}

export function makeGrant(
  { scope, called, approvalKey, covers, answers, workspace, sessionId, principal, by, now, ...limits }: GrantSources,
): ApprovalGrant {
  const { lastsMs = Infinity, until = Infinity, maxUses } = limits
  const end = Math.min(now + lastsMs, until)
  const { tool, callers } = called
  const place = scope === 'session' ? sessionId : workspace
  return {
    id: idOf(scope, place, identityOfCalled(called, principal), approvalKey),
    scope, tool: tool.name, approvalKey, covers, workspace, sessionId,
    origin: tool.origin,
    digests: tool.digests,
    ...(principal !== undefined && { principal }),
    answers,
    ...(callers.length > 0 && { callers: callers.map(approvedCaller) }),
    grantedAt: new Date(now).toISOString(),
    grantedBy: by,
    expiresAt: Number.isFinite(end) ? new Date(end).toISOString() : null,
    ...(maxUses !== undefined && { maxUses }),
    ...(limits.until !== undefined && { until: new Date(limits.until).toISOString() }),
  }
}

/** `place`: the session or the folder that it is for. */
export const idOf = (scope: ApprovalScope, place: string, identity: string, approvalKey: string): string =>
  hash('sha256', [scope, place, identity, approvalKey].join('\0')).slice(0, 12)

type Bound = Pick<ApprovalGrant, 'tool' | 'origin' | 'digests' | 'callers' | 'principal'>

/**
 * What an approval is bound to besides its key: the extension, its bytes, definition and capabilities, the callers, and
 * the principal.
 */
export const identityOf = ({ tool, origin, digests, callers = [], principal }: Bound): string =>
  [toolIdentity(tool, origin, digests), ...callers.map(({ digest }) => digest), ...ofPrincipal(principal)].join('\0')

/** The same for a call. */
export const identityOfCalled = ({ tool, callers }: Called, principal: string | undefined): string =>
  callers.length === 0 && principal === undefined ? tool.identity
    : [tool.identity, ...callers.map((caller) => hash('sha256', caller.identity)), ...ofPrincipal(principal)].join('\0')

/** No digest of a caller looks like this. */
const ofPrincipal = (id: string | undefined): readonly string[] => id === undefined ? [] : [`principal ${id}`]

const approvedCaller = ({ name, identity, origin: { extension, layer } }: ToolEntry): ApprovedCaller =>
  ({ tool: name, extension, layer, digest: hash('sha256', identity) })

/** Where the store keeps the approvals of a project. */
export const projectPrefix = (workspace: string): string => `${hash('sha256', workspace)}/`
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
  const ended = stored.ended ?? usedUp(stored) ?? (isOver ? { how: 'expired' as const, at: stored.expiresAt ?? '' } : null)
  return { ...stored, ended, status: ended?.how ?? 'standing' }
}

/** The call that it was given to is not among its uses. */
const usedUp = ({ maxUses, uses, lastUsedAt, grantedAt }: StoredApproval): ApprovalEnd | undefined =>
  maxUses !== undefined && uses + 1 >= maxUses ? { how: 'used', at: lastUsedAt ?? grantedAt } : undefined

/** Oldest first. */
export const byAge = (a: ApprovalGrant, b: ApprovalGrant): number =>
  a.grantedAt < b.grantedAt ? -1 : a.grantedAt > b.grantedAt ? 1 : a.id < b.id ? -1 : 1

/** The fields of every event of an approval. */
export const eventFieldsOf = (
  { id: approvalId, scope, tool, approvalKey, origin, principal }: Omit<ApprovalGrant, 'sessionId' | 'grantedBy' | 'expiresAt'>,
) =>
  ({ approvalId, scope, tool, approvalKey, origin, ...(principal !== undefined && { principal }) })

/** Those of the event that it was given. */
export const grantedFieldsOf = ({ sessionId, grantedBy, expiresAt, maxUses, ...grant }: ApprovalGrant) => ({
  ...eventFieldsOf(grant), sessionId, grantedBy, expiresAt, ...(maxUses !== undefined && { maxUses }),
})

const UNITS = [['day', 86_400_000], ['hour', 3_600_000], ['minute', 60_000]] as const

/** A span of time for people, by its largest unit. */
function spanWords(ms: number): string {
  const [unit, size] = UNITS.find(([, length]) => ms >= length) ?? ['second', 1_000]
  return counted(Math.round(ms / size), unit)
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
const ago = (at: string, now: number): string => `${spanWords(Math.max(0, now - Date.parse(at)))} ago`

/** Why a call is allowed. */
export function approvedWords(
  { id, scope, approvalKey, grantedAt, grantedBy, expiresAt, uses, maxUses, answers }: Approval, now: number,
): string {
  const left = maxUses === undefined ? '' : `, allows ${counted(maxUses - 1 - uses, 'more call')}`
  const ends = expiresAt === null
    ? 'ends with the session' : `expires in ${spanWords(Math.max(0, Date.parse(expiresAt) - now))}`
  return `${scope} approval ${id} of the key "${visibleText(approvalKey)}", which answers ${answersWords(answers)}, `
    + `given ${ago(grantedAt, now)} by ${visibleText(grantedBy)}, ${ends}, used ${counted(uses, 'time')}${left}`
}

const OF_ARGUMENTS = / for the arguments [0-9a-f]+$/
/** Whether an approval answers a question for the same call only: a watchdog or guard asks it. */
export const isOfSameCall = (question: string): boolean => OF_ARGUMENTS.test(question)

/** What an approval answers. */
const answersWords = (answers: readonly string[] = [MODE_QUESTION]): string =>
  [...new Set(answers.map((one) => visibleText(one.replace(OF_ARGUMENTS, ' for the same arguments'))))].join(', ')

/** Why a call asks although an approval of its key stands. */
export const otherQuestionWords = ({ id, scope, answers }: Approval): string =>
  `the ${scope} approval ${id} of the key answers ${answersWords(answers)}, and something else asks`

/** Why a call asks although its key was approved. */
export function endedWords({ id, scope, approvalKey, ended, uses }: Approval, now: number): string {
  const how = ended === null ? 'has ended' : `${ENDED[ended.how]} ${ago(ended.at, now)}`
  const by = ended?.by === undefined ? '' : ` by ${visibleText(ended.by)}`
  const key = visibleText(approvalKey)
  return `the ${scope} approval ${id} of the key "${key}" ${how}${by}, after ${counted(uses, 'use')}`
}

const ENDED = { expired: 'expired', revoked: 'was revoked', used: 'was used up' } as const

/** Why a call asks although its key was approved for the project. */
export const switchedOffWords = ({ id }: Approval): string =>
  `the project approval ${id} of the key does not count: approvals for projects are off, until \`approvals.project\` `
  + 'is set in the configuration of the user or the embedder'

/** Why an approval of the same name and key does not cover this call. */
export function changedWords(
  { id, scope, origin, digests, callers = [] }: Approval, { tool, callers: calling }: Called,
): string {
  const { origin: now, digests: present } = tool
  const names = (chain: readonly string[]): string =>
    chain.length === 0 ? 'calls of the model' : `calls by ${chain.join(', then ')}`
  const [then, here] = [names(callers.map((caller) => caller.tool)), names(calling.map(({ name }) => name))]
  if (then !== here) return `the ${scope} approval ${id} of the key is for ${then}, and this is one of the ${here}`
  const others = [
    ...(origin.extension === now.extension && origin.layer === now.layer ? [] : ['its origin']),
    ...(digests.package === present.package ? [] : ['its package']),
    ...(digests.tool === present.tool ? [] : ['its definition']),
    ...(digests.capability === present.capability ? [] : ['its capabilities']),
    ...(callers.every(
      ({ digest }, index) => digest === hash('sha256', calling[index]!.identity),
    ) ? [] : ['a tool that calls it']),
  ]
  const was = `${origin.layer} extension ${origin.extension} ${origin.version}`
  return `the ${scope} approval ${id} of the key was given to the ${was}; since then ${others.join(', ')} changed`
}
