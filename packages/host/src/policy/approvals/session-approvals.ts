import type { Clock } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { SessionKeeper } from '../../model/session-keeper.ts'
import type { EventBus } from '../../records/events.ts'
import type { Subject } from '../model/checked-call.ts'
import { MODE_QUESTION } from '../model/verdict.ts'
import {
  byAge, eventFieldsOf, grantedFieldsOf, identityOf, identityOfCalled, makeGrant, type Approval,
  type ApprovalEnd, type ApprovalScope,
  type Called, type GrantSources, type StoredApproval,
} from './approval.ts'
import { readOwnApproval } from './approval-ledger.ts'
import type { ApprovalTerms } from './approval-terms.ts'
import { ApprovalIndex, KeptApproval } from './kept-approval.ts'
import type { ProjectApprovals } from './project-approvals.ts'

export interface SessionApprovalSources {
  readonly sessionId: string
  /** The id of the principal of the session. */
  readonly principal: string | undefined
  readonly workspace: string
  readonly project: ProjectApprovals
  /** The current terms. */
  readonly terms: () => ApprovalTerms
  readonly events: EventBus
  readonly clock: Clock
  /** Stores them with the session. */
  readonly kept?: SessionKeeper | undefined
}

/** A key that an answer covers, and what that means. */
export interface CoveredKey {
  readonly key: string
  /** In words. */
  readonly covers: string
}

/** What the answer says about its end. */
export type ApprovalLimits = Pick<GrantSources, 'until' | 'maxUses'>

/** What a call needs approved: the whole, or each subject. */
export interface Approvable {
  readonly approvalKey: string
  readonly subjects: readonly Subject[]
  /** What asks. */
  readonly questions?: readonly string[]
  /** Third-party code derived the key: only an approval of this session covers it. */
  readonly keyByTool?: true
}

/**
 * The approvals that apply to one session: its own and those of its project. An approval names the tool and the key,
 * and is bound to the bytes of the extension and to the tools that call it. If one of these changes, it no longer
 * holds.
 */
export class SessionApprovals {
  readonly #sources: SessionApprovalSources
  readonly #own = new ApprovalIndex()

  constructor(sources: SessionApprovalSources) {
    this.#sources = sources
  }

  /** The approvals that answer a call, or undefined if a person must. Counts nothing and emits nothing. */
  answering(
    called: Called, { approvalKey, subjects, keyByTool, questions = [MODE_QUESTION] }: Approvable,
  ): readonly KeptApproval[] | undefined {
    const now = this.#sources.clock.now()
    const identity = this.#identityOf(called)
    const find = (key: string) => keyByTool
      ? this.#findOwn(identity, key, now, questions) : this.#find(identity, key, now, questions)
    const whole = find(approvalKey)
    if (whole) return whole.alone
    const parts: KeptApproval[] = []
    for (const subject of subjects) {
      const found = find(subject.key) ?? findAbove(subject, find)
      if (!found) return undefined
      parts.push(found)
    }
    return parts
  }

  /**
   * Whether the approvals of the project must be read again before this answer counts. Those that answer are compared
   * when the call starts.
   */
  async isStale(answering: readonly KeptApproval[] | undefined): Promise<boolean> {
    const { project } = this.#sources
    if (!this.forProject || answering?.every(isOfSession)) return false
    return answering ? project.isHinted : project.isStale()
  }

  /** For `explain`, which starts no call that would compare the revision. */
  async refreshIfStale(): Promise<void> {
    const { project } = this.#sources
    if (this.forProject && await project.isStale()) await project.refresh()
    await project.ledger.counts.refresh([...this.#own.all(), ...this.forProject ? project.all() : []])
  }

  /**
   * Counts a call that limited approvals allow, in the store, before it runs. Resolves with whether all had a use left.
   * Rejects with StoreUnavailable.
   */
  async take(approvals: readonly KeptApproval[]): Promise<boolean> {
    const { project, events, clock } = this.#sources
    const last = await project.ledger.counts.take(approvals.filter(({ isLimited }) => isLimited))
    const expiresAt = new Date(clock.now()).toISOString()
    for (const { grant } of last ?? []) events.emit({ type: 'ApprovalExpired', ...eventFieldsOf(grant), expiresAt })
    return last !== undefined
  }

  /** The revision that an answer rests on. undefined if it rests on approvals of this session only. */
  revisionOf(answering: readonly KeptApproval[]): number | undefined {
    return answering.every(isOfSession) ? undefined : this.#sources.project.revision ?? NO_REVISION
  }

  /** Whether approvals for the project are given, and count. */
  get forProject(): boolean {
    return this.#sources.terms().forProject
  }

  refresh(): Promise<void> {
    return this.#sources.project.refresh()
  }

  /** Approvals of this call that have ended. */
  former(called: Called, { approvalKey, subjects }: Approvable): readonly KeptApproval[] {
    const now = this.#sources.clock.now()
    const identity = this.#identityOf(called)
    const ended = keysOf(approvalKey, subjects)
      .flatMap((key) => [this.#own.get(identity, key) ?? [], this.#sources.project.find(identity, key) ?? []].flat())
    return ended.filter((approval) => !approval.stands(now))
  }

  /** Approvals for the project that would answer this call, but do not count. */
  switchedOff(called: Called, { approvalKey, subjects }: Approvable): readonly Approval[] {
    if (this.forProject) return []
    const now = this.#sources.clock.now()
    const identity = this.#identityOf(called)
    return keysOf(approvalKey, subjects).flatMap((key) => this.#sources.project.find(identity, key) ?? [])
      .filter((approval) => approval.stands(now)).map((approval) => approval.view(now))
  }

  /** Approvals of the same name and key for another version of the tool, or for other callers. */
  ofOthers({ tool }: Called, { approvalKey, subjects }: Approvable): readonly Approval[] {
    const keys = new Set([approvalKey, ...subjects.map(({ key }) => key)])
    return this.inForce().filter((approval) => approval.tool === tool.name && keys.has(approval.approvalKey))
  }

  /** Counts a call that they allow. */
  use(approvals: readonly KeptApproval[]): void {
    const { clock, project } = this.#sources
    const now = clock.now()
    for (const approval of approvals) {
      approval.use(now)
      if (approval.grant.scope === 'project') project.noteUse(approval)
      else this.#sources.kept?.changed()
    }
  }

  /** A call asks although it was approved once. Emits an event for each approval that expired, once. */
  noteExpired(called: Called, meaning: Approvable): void {
    const { project, events } = this.#sources
    for (const approval of this.former(called, meaning)) {
      const { grant } = approval
      if (grant.scope === 'project') project.expired(approval)
      else if (approval.end({ how: 'expired', at: grant.expiresAt ?? '' })) {
        events.emit({ type: 'ApprovalExpired', ...eventFieldsOf(grant), expiresAt: grant.expiresAt ?? '' })
      }
    }
  }

  /**
   * For the project only if the terms allow it, else for the session. `questions`: what asked. What an approval of the
   * same key answers stays answered.
   */
  remember(
    called: Called, { key: approvalKey, covers }: CoveredKey, scope: ApprovalScope, by: string,
    questions: readonly string[] = [MODE_QUESTION], limits: ApprovalLimits = {},
  ): void {
    const { sessionId, principal, workspace, clock, terms, events, project } = this.#sources
    const { sessionMs, projectMs, forProject } = terms()
    const identity = this.#identityOf(called)
    const before = scope === 'session' ? this.#own.get(identity, approvalKey) : project.find(identity, approvalKey)
    // What one answer limits does not become unlimited by another.
    const isSame = limits.until === undefined && limits.maxUses === undefined && before?.stands(clock.now()) === true
      && before.grant.until === undefined && !before.isLimited
    const kept = isSame ? before.grant.answers ?? [MODE_QUESTION] : []
    const answers = [...new Set([...kept, ...questions])].slice(-MOST_ANSWERS)
    const given = { called, approvalKey, covers, answers, workspace, sessionId, principal, by, now: clock.now(), ...limits }
    const grant = makeGrant({ ...given, scope: 'session', lastsMs: sessionMs })
    const keep = () => {
      this.#own.set(this.#identityOf(called), new KeptApproval(grant))
      this.#sources.kept?.changed('now')
    }
    // If it cannot be stored for the project, it still holds for this session.
    if (scope === 'project' && forProject) return project.add(makeGrant({ ...given, scope, lastsMs: projectMs }), keep)
    keep()
    events.emit({ type: 'ApprovalGranted', ...grantedFieldsOf(grant) })
  }

  /** Called for each approval that is given for the project. */
  onProjectGrant(listener: () => void): () => void {
    return this.#sources.project.onGrant(listener)
  }

  /** Its own approvals, ended ones too. */
  own(): readonly Approval[] {
    const now = this.#sources.clock.now()
    return this.#own.all().map((approval) => approval.view(now))
  }

  /** All approvals that apply to this session, oldest first. */
  inForce(): readonly Approval[] {
    const now = this.#sources.clock.now()
    const { project, principal } = this.#sources
    const shared = this.forProject ? project.all().filter(({ grant }) => grant.principal === principal) : []
    return [...this.#own.all(), ...shared].map((approval) => approval.view(now))
      .filter(({ status }) => status === 'standing').toSorted(byAge)
  }

  /** Ends its own approvals that match. */
  revoke(isSelected: (approval: Approval) => boolean, end: ApprovalEnd): void {
    const { clock, events } = this.#sources
    for (const approval of this.#own.all()) {
      if (!isSelected(approval.view(clock.now())) || !approval.end(end)) continue
      events.emit({ type: 'ApprovalRevoked', ...eventFieldsOf(approval.grant), revokedBy: end.by ?? '' })
    }
  }

  /** Resolves when its own approvals are stored, if the session is. Rejects with StoreUnavailable. */
  async settled(): Promise<void> {
    await this.#sources.kept?.save()
  }

  /** Its own, to store them. */
  stored(): readonly StoredApproval[] {
    return this.#own.all().map((approval) => approval.stored())
  }

  /** Those that were stored. Present terms apply: an approval lasts no longer than one that is given now. */
  restore(stored: readonly Json[]): void {
    const { sessionId, principal, terms } = this.#sources
    for (const approval of stored.flatMap((one) => readOwnApproval(one, sessionId, principal))) {
      const { sessionMs } = terms()
      const latest = sessionMs === undefined ? Infinity : Date.parse(approval.grantedAt) + sessionMs
      const isShortened = latest < (approval.expiresAt === null ? Infinity : Date.parse(approval.expiresAt))
      const present = isShortened ? { ...approval, expiresAt: new Date(latest).toISOString() } : approval
      this.#own.set(identityOf(approval), new KeptApproval(present, present))
    }
  }

  #identityOf(called: Called): string {
    return identityOfCalled(called, this.#sources.principal)
  }

  #findOwn(
    identity: string, approvalKey: string, now: number, questions: readonly string[],
  ): KeptApproval | undefined {
    const own = this.#own.get(identity, approvalKey)
    return own?.stands(now) && own.covers(questions) ? own : undefined
  }

  #find(identity: string, approvalKey: string, now: number, questions: readonly string[]): KeptApproval | undefined {
    const own = this.#findOwn(identity, approvalKey, now, questions)
    if (own || !this.forProject) return own
    const shared = this.#sources.project.find(identity, approvalKey)
    return shared?.stands(now) && shared.covers(questions) ? shared : undefined
  }
}

const keysOf = (approvalKey: string, subjects: readonly Subject[]): readonly string[] =>
  [...new Set([approvalKey, ...subjects.flatMap(({ key, within = [] }) => [key, ...within])])]

type Find = (key: string) => KeptApproval | undefined

/** An approval of a folder. It does not cover files that are held back. */
function findAbove({ within = [], isHeldBack }: Subject, find: Find): KeptApproval | undefined {
  for (const key of within) {
    const found = find(key) ?? findEarlier(key, find)
    if (found) return isHeldBack?.() ? undefined : found
  }
  return undefined
}

/** Earlier versions stored the folder of a file without the slash, and not what an approval covers. */
function findEarlier(key: string, find: Find): KeptApproval | undefined {
  const found = key.endsWith('/') && key !== '/' ? find(key.slice(0, -1)) : undefined
  return found?.grant.covers === undefined ? found : undefined
}
/** No store has it, so that the call is decided again. */
const NO_REVISION = -1

/** How many questions one approval answers. The oldest are asked again. */
const MOST_ANSWERS = 64

const isOfSession = ({ grant }: KeptApproval): boolean => grant.scope === 'session'
