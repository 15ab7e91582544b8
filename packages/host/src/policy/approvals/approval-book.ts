import { requireOptions, type Clock, type Store } from '@bulkhead/contract'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { systemClock } from '../../model/system-clock.ts'
import { KEPT } from '../../records/audit-forms.ts'
import { AuditTrail } from '../../records/audit-trail.ts'
import { EventBus } from '../../records/events.ts'
import { createRedaction } from '../../records/redaction.ts'
import { ApprovalLedger, unknownApproval, type DamagedApproval } from './approval-ledger.ts'
import { byAge, type Approval, type ApprovalEnd } from './approval.ts'
import type { ProjectApprovals } from './project-approvals.ts'
import type { SessionApprovals } from './session-approvals.ts'

/** Selects approvals. All conditions must hold. */
export interface ApprovalFilter {
  /** A project, by its folder. Default: the project of the host. */
  readonly workspace?: string
  /** Every project in the store instead of one. */
  readonly everywhere?: boolean
  /** Given in this session, for itself or for its project. */
  readonly session?: string
  readonly tool?: string
  /** For sessions of this principal. */
  readonly principal?: string
  /** Include approvals that have ended. */
  readonly ended?: boolean
}

/** What people approved for longer than one call. */
export interface ApprovalBook {
  /** Oldest first. Rejects with StoreUnavailable. */
  list(filter?: ApprovalFilter): Promise<readonly Approval[]>
  /** Records that cannot be read, in the project or everywhere. Their tool, session and principal are not known. */
  damaged(filter?: ApprovalFilter): Promise<readonly DamagedApproval[]>
  /**
   * Ends one approval by its id, or all that the filter selects, and resolves with them. Damaged records are removed by
   * id, or if the filter names neither tool, session nor principal; they are not in the result. The approvals allow
   * nothing here from the moment of this call, and nothing in other hosts of this store a millisecond after it
   * resolves. Rejects with NotFound for an unknown id, and with StoreUnavailable if an approval for a project could not
   * be ended in the store.
   */
  revoke(which: string | ApprovalFilter, by?: string): Promise<readonly Approval[]>
}

/** The projects and sessions that are open in this process. */
export interface OpenApprovals {
  readonly workspace: string | undefined
  readonly projects: readonly ProjectApprovals[]
  readonly sessions: readonly SessionApprovals[]
}

export interface BookSources {
  readonly ledger: ApprovalLedger
  readonly now: () => number
  readonly open: () => OpenApprovals
}

const FILTER: OptionForms<ApprovalFilter> = {
  workspace: forms.text, everywhere: forms.flag, session: forms.text, tool: forms.text, principal: forms.text,
  ended: forms.flag,
}

export function createApprovalBook({ ledger, now, open }: BookSources): ApprovalBook {
  return {
    async list(filter = {}) {
      requireOptions('approvals.list', filter, FILTER)
      const { projects, sessions, workspace } = open()
      await Promise.all(projects.map((project) => project.settled()))
      const { approvals } = await ledger.read(folderOf(filter, workspace))
      return [...approvals.map((stored) => ledger.view(stored)), ...sessions.flatMap((session) => session.own())]
        .filter(matching(filter, workspace)).toSorted(byAge)
    },
    async damaged(filter = {}) {
      requireOptions('approvals.damaged', filter, FILTER)
      if (isOfSome(filter)) return []
      const { damaged } = await ledger.read(folderOf(filter, open().workspace))
      return damaged.map(({ id, damage }) => ({ id, damage }))
    },
    async revoke(which, by = 'host') {
      if (typeof which !== 'string') requireOptions('approvals.revoke', which, FILTER)
      const { projects, sessions, workspace } = open()
      const end: ApprovalEnd = { how: 'revoked', at: new Date(now()).toISOString(), by }
      const filter = typeof which === 'string' ? { everywhere: true } : which
      const matches = matching(filter, workspace)
      const isWanted = (approval: Approval) =>
        matches(approval) && approval.status === 'standing' && (typeof which !== 'string' || approval.id === which)
      // Here at once: a call may come before the store has it.
      const ofSessions = sessions.flatMap((session) => session.own().filter(isWanted))
      for (const session of sessions) session.revoke(isWanted, end)
      for (const project of projects) project.end(isWanted, end)
      if (ofSessions.length > 0) await Promise.all(sessions.map((session) => session.settled()))
      const kept = await ledger.read(folderOf(filter, workspace))
      const ofProjects = kept.approvals.map((stored) => ledger.view(stored)).filter(isWanted)
      const damaged = kept.damaged.filter(({ id }) => typeof which === 'string' ? id === which : !isOfSome(which))
      await Promise.all([
        ...ofProjects.map((approval) => ledger.end(approval, end)), ...damaged.map(({ key }) => ledger.remove(key)),
      ])
      const revoked = [...ofSessions, ...ofProjects]
      if (typeof which === 'string' && revoked.length + damaged.length === 0) throw unknownApproval(which)
      return revoked.map((approval): Approval => ({ ...approval, ended: end, status: 'revoked' })).toSorted(byAge)
    },
  }
}

const isOfSome = ({ session, tool, principal }: ApprovalFilter): boolean =>
  session !== undefined || tool !== undefined || principal !== undefined

/** A session has its own folder, whatever project the host has now. */
const folderOf = (
  { everywhere, workspace, session }: ApprovalFilter, current: string | undefined,
): string | undefined =>
  everywhere ? undefined : workspace ?? (session === undefined ? current : undefined)

function matching(filter: ApprovalFilter, current: string | undefined): (approval: Approval) => boolean {
  const folder = folderOf(filter, current)
  const { session, tool, principal, ended = false } = filter
  return (approval) => (folder === undefined || approval.workspace === folder)
    && (session === undefined || approval.sessionId === session)
    && (tool === undefined || approval.tool === tool)
    && (principal === undefined || approval.principal === principal)
    && (ended || approval.status === 'standing')
}

/**
 * The approvals of a store, without a host, to manage them whether hosts run or not. A revocation is in the audit when
 * `revoke` resolves. A filter without a folder selects every project.
 */
export function openApprovals(store: Store, clock: Clock = systemClock): ApprovalBook {
  const events = new EventBus(clock)
  const redaction = createRedaction([])
  const audit = new AuditTrail({ store, redaction: () => redaction, keepArguments: false, failed: () => undefined })
  events.on(audit.hear, KEPT)
  const now = () => clock.now()
  const book = createApprovalBook({
    ledger: new ApprovalLedger({ store, events, now }), now,
    open: () => ({ workspace: undefined, projects: [], sessions: [] }),
  })
  return {
    list: book.list,
    damaged: book.damaged,
    async revoke(which, by) {
      const revoked = await book.revoke(which, by)
      await audit.flush()
      return revoked
    },
  }
}
