import type { Clock, ConfigFile, LayerConfig } from '@bulkhead/contract'
import type { EventBus } from '../../records/events.ts'
import type { Subject } from '../checked-call.ts'
import { MODE_QUESTION } from '../verdict.ts'
import {
  byAge, eventFieldsOf, identityOfCalled, makeGrant, type Approval, type ApprovalEnd, type ApprovalScope, type Called,
} from './approval.ts'
import { ApprovalIndex, KeptApproval } from './kept-approval.ts'
import type { ProjectApprovals } from './project-approvals.ts'

export interface SessionApprovalSources {
  readonly sessionId: string
  readonly workspace: string
  readonly project: ProjectApprovals
  /** The current terms. */
  readonly terms: () => ApprovalTerms
  readonly events: EventBus
  readonly clock: Clock
}

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
    const identity = identityOfCalled(called)
    const find = (key: string) => keyByTool
      ? this.#findOwn(identity, key, now, questions) : this.#find(identity, key, now, questions)
    const whole = find(approvalKey)
    if (whole) return whole.alone
    const parts: KeptApproval[] = []
    for (const { key, within = [] } of subjects) {
      let found = find(key)
      for (let index = 0; !found && index < within.length; index++) found = find(within[index]!)
      if (!found) return undefined
      parts.push(found)
    }
    return parts
  }

  /** Whether the approvals of the project must be read again before this answer counts. */
  isStale(answering: readonly KeptApproval[] | undefined): boolean {
    const areOwn = answering?.every(isOfSession) === true
    return !areOwn && this.#sources.project.isStale
  }

  refresh(): Promise<void> {
    return this.#sources.project.refresh()
  }

  /** Approvals of this call that have ended. */
  former(called: Called, { approvalKey, subjects }: Approvable): readonly KeptApproval[] {
    const now = this.#sources.clock.now()
    const keys = new Set([approvalKey, ...subjects.flatMap(({ key, within = [] }) => [key, ...within])])
    const identity = identityOfCalled(called)
    const ended = [...keys]
      .flatMap((key) => [this.#own.get(identity, key) ?? [], this.#sources.project.find(identity, key) ?? []].flat())
    return ended.filter((approval) => !approval.stands(now))
  }

  /** Approvals of the same name and key for another version of the tool, or for other callers. */
  ofOthers({ tool }: Called, { approvalKey, subjects }: Approvable): readonly Approval[] {
    const keys = new Set([approvalKey, ...subjects.map(({ key }) => key)])
    return this.standing().filter((approval) => approval.tool === tool.name && keys.has(approval.approvalKey))
  }

  /** Counts a call that they allow. */
  use(approvals: readonly KeptApproval[]): void {
    const { clock, project } = this.#sources
    const now = clock.now()
    for (const approval of approvals) {
      approval.use(now)
      if (approval.grant.scope === 'project') project.noteUse(approval)
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

  /** `questions`: what asked. What an approval of the same key answers stays answered. */
  remember(
    called: Called, approvalKey: string, scope: ApprovalScope, by: string,
    questions: readonly string[] = [MODE_QUESTION],
  ): void {
    const { sessionId, workspace, clock, terms, events, project } = this.#sources
    const { sessionMs, projectMs } = terms()
    const identity = identityOfCalled(called)
    const before = scope === 'session' ? this.#own.get(identity, approvalKey) : project.find(identity, approvalKey)
    const kept = before?.stands(clock.now()) ? before.grant.answers ?? [MODE_QUESTION] : []
    const answers = [...new Set([...kept, ...questions])].slice(-MOST_ANSWERS)
    const given = { called, approvalKey, answers, workspace, sessionId, by, now: clock.now() }
    const grant = makeGrant({ ...given, scope: 'session', lastsMs: sessionMs })
    const keep = () => this.#own.set(identityOfCalled(called), new KeptApproval(grant))
    // If it cannot be stored for the project, it still holds for this session.
    if (scope === 'project') return project.add(makeGrant({ ...given, scope, lastsMs: projectMs }), keep)
    keep()
    const { grantedBy, expiresAt } = grant
    events.emit({ type: 'ApprovalGranted', ...eventFieldsOf(grant), sessionId, grantedBy, expiresAt })
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
  standing(): readonly Approval[] {
    const now = this.#sources.clock.now()
    return [...this.#own.all(), ...this.#sources.project.all()].map((approval) => approval.view(now))
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

  #findOwn(
    identity: string, approvalKey: string, now: number, questions: readonly string[],
  ): KeptApproval | undefined {
    const own = this.#own.get(identity, approvalKey)
    return own?.stands(now) && own.covers(questions) ? own : undefined
  }

  #find(identity: string, approvalKey: string, now: number, questions: readonly string[]): KeptApproval | undefined {
    const own = this.#findOwn(identity, approvalKey, now, questions)
    if (own) return own
    const shared = this.#sources.project.find(identity, approvalKey)
    return shared?.stands(now) && shared.covers(questions) ? shared : undefined
  }
}

/** How many questions one approval answers. The oldest are asked again. */
const MOST_ANSWERS = 64

const isOfSession = ({ grant }: KeptApproval): boolean => grant.scope === 'session'

/** How long approvals last. */
export interface ApprovalTerms {
  /** undefined: as long as the session. */
  readonly sessionMs: number | undefined
  readonly projectMs: number
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const PROJECT_DAYS = 30

type Term = keyof NonNullable<ConfigFile['approvals']>

/** The nearest layer decides, as for any other setting. A project and the machine can only shorten the term. */
export function approvalTerms(layers: readonly LayerConfig[]): ApprovalTerms {
  const days = termOf('projectDays', layers, PROJECT_DAYS)
  const minutes = termOf('sessionMinutes', layers, Infinity)
  return { projectMs: days * DAY_MS, sessionMs: Number.isFinite(minutes) ? minutes * MINUTE_MS : undefined }
}

function termOf(name: Term, layers: readonly LayerConfig[], standard: number): number {
  const last = (of: (layer: LayerConfig['layer']) => boolean) =>
    layers.filter(({ layer }) => of(layer))
      .map(({ config }) => config.approvals?.[name]).findLast((term) => term !== undefined)
  const shortest = [last((layer) => layer === 'project'), last((layer) => layer === 'machine')]
    .filter((term) => term !== undefined)
  return Math.min(last((layer) => layer !== 'project' && layer !== 'machine') ?? standard, ...shortest)
}
