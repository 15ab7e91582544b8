import { requireOptions, type Clock, type Store } from '@bulkhead/contract'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { systemClock } from '../../model/system-clock.ts'
import { KEPT } from '../../records/audit-record.ts'
import { AuditTrail } from '../../records/audit-trail.ts'
import { EventBus } from '../../records/events.ts'
import { createRedaction } from '../../records/redaction.ts'
import { ApprovalLedger, unknownApproval, type DamagedApproval } from './approval-ledger.ts'
import { byAge, type Approval, type ApprovalEnd } from './approval.ts'
import type { ProjectApprovals } from './project-approvals.ts'
import type { SessionApprovals } from './session-approvals.ts'

/** Which approvals. Everything that is given must hold. */
export interface ApprovalFilter {
  /** A project, by its folder. Default: the one the host works on. */
  readonly workspace?: string
  /** Of every project that the store knows, in place of one. */
  readonly everywhere?: boolean
  /** Given in this session, for itself or for its project. */
  readonly session?: string
  readonly tool?: string
  /** Those that have ended too. */
  readonly ended?: boolean
}

/** What people have approved of for longer than one call. */
export interface ApprovalBook {
  /** From the oldest. Rejects with StoreUnavailable. */
  list(filter?: ApprovalFilter): Promise<readonly Approval[]>
  /** What is in the place of approvals and cannot be read, in the project or everywhere: which tool or session it was of is not known. */
  damaged(filter?: ApprovalFilter): Promise<readonly DamagedApproval[]>
  /**
   * Ends one by its id, or all that the filter finds. What is damaged is removed by its id, or where the filter names neither tool nor
   * session, and is not among what this resolves with. From the moment of the call nothing here is answered by them, and once it has
   * resolved, nothing that comes a millisecond later in any host of this store. Resolves with them. Rejects with NotFound for an id
   * that no standing or damaged one has, and with StoreUnavailable when one for a project could not be ended for others.
   */
  revoke(which: string | ApprovalFilter, by?: string): Promise<readonly Approval[]>
}

/** What is open in this process. */
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
  workspace: forms.text, everywhere: forms.flag, session: forms.text, tool: forms.text, ended: forms.flag,
}

export function createApprovalBook({ ledger, now, open }: BookSources): ApprovalBook {
  return {
    async list(filter = {}) {
      requireOptions('approvals.list', filter, FILTER)
      const { projects, sessions, workspace } = open()
      await Promise.all(projects.map((project) => project.settled()))
      const { approvals } = await ledger.read(folderOf(filter, workspace))
      return [...approvals.map((stored) => ledger.view(stored)), ...sessions.flatMap((session) => session.own())].filter(matching(filter, workspace)).toSorted(byAge)
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
      const isWanted = (approval: Approval) => matches(approval) && approval.status === 'standing' && (typeof which !== 'string' || approval.id === which)
      // At once: until the store has it takes a moment, in which a call may come.
      const ofSessions = sessions.flatMap((session) => session.own().filter(isWanted))
      for (const session of sessions) session.revoke(isWanted, end)
      for (const project of projects) project.end(isWanted, end)
      const kept = await ledger.read(folderOf(filter, workspace))
      const ofProjects = kept.approvals.map((stored) => ledger.view(stored)).filter(isWanted)
      const damaged = kept.damaged.filter(({ id }) => typeof which === 'string' ? id === which : !isOfSome(which))
      await Promise.all([...ofProjects.map((approval) => ledger.end(approval, end)), ...damaged.map(({ key }) => ledger.remove(key))])
      const revoked = [...ofSessions, ...ofProjects]
      if (typeof which === 'string' && revoked.length + damaged.length === 0) throw unknownApproval(which)
      return revoked.map((approval): Approval => ({ ...approval, ended: end, status: 'revoked' })).toSorted(byAge)
    },
  }
}

const isOfSome = ({ session, tool }: ApprovalFilter): boolean => session !== undefined || tool !== undefined

/** A session has its own folder, whichever the host works on now. */
const folderOf = ({ everywhere, workspace, session }: ApprovalFilter, current: string | undefined): string | undefined =>
  everywhere ? undefined : workspace ?? (session === undefined ? current : undefined)

function matching(filter: ApprovalFilter, current: string | undefined): (approval: Approval) => boolean {
  const folder = folderOf(filter, current)
  const { session, tool, ended = false } = filter
  return (approval) => (folder === undefined || approval.workspace === folder)
    && (session === undefined || approval.sessionId === session)
    && (tool === undefined || approval.tool === tool)
    && (ended || approval.status === 'standing')
}

/**
 * The approvals of a store, without a host: for whoever looks after them while hosts run, or while none does. What is revoked
 * here is in the audit when `revoke` has resolved. Without a folder in the filter, those of every project.
 */
export function openApprovals(store: Store, clock: Clock = systemClock): ApprovalBook {
  const events = new EventBus(clock)
  const redaction = createRedaction([])
  const audit = new AuditTrail({ store, redaction: () => redaction, keepArguments: false, failed: () => undefined })
  events.on(audit.hear, KEPT)
  const now = () => clock.now()
  const book = createApprovalBook({
    ledger: new ApprovalLedger({ store, events, now }), now, open: () => ({ workspace: undefined, projects: [], sessions: [] }),
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
