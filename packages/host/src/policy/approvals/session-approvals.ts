import type { Clock, ConfigFile, LayerConfig } from '@bulkhead/contract'
import type { EventBus } from '../../records/events.ts'
import type { Subject } from '../checked-call.ts'
import {
  byAge, eventFieldsOf, identityOfCalled, makeGrant, type Approval, type ApprovalEnd, type ApprovalScope, type Called,
} from './approval.ts'
import { ApprovalIndex, KeptApproval } from './kept-approval.ts'
import type { ProjectApprovals } from './project-approvals.ts'

export interface SessionApprovalSources {
  readonly sessionId: string
  readonly workspace: string
  readonly project: ProjectApprovals
  /** As they are now. */
  readonly terms: () => ApprovalTerms
  readonly events: EventBus
  readonly clock: Clock
}

/** What a call asks to be approved: the whole of it, or each thing it stands for. */
export interface Approvable {
  readonly approvalKey: string
  readonly subjects: readonly Subject[]
  /** Third-party code made the key: nothing but an approval of this session answers it. */
  readonly keyByTool?: true
}

/**
 * What a person has approved for longer than one call, as one session has it: its own approvals and those of its project. An
 * approval names the tool and key, and is bound to who implements them in which bytes and to the tools that call it: whatever
 * changes, it is asked again.
 */
export class SessionApprovals {
  readonly #sources: SessionApprovalSources
  readonly #own = new ApprovalIndex()

  constructor(sources: SessionApprovalSources) {
    this.#sources = sources
  }

  /** What answers a call; undefined where a person must. Pure: nothing is counted or told. */
  answering(called: Called, { approvalKey, subjects, keyByTool }: Approvable): readonly KeptApproval[] | undefined {
    const now = this.#sources.clock.now()
    const identity = identityOfCalled(called)
    const find = (key: string) => keyByTool ? this.#findOwn(identity, key, now) : this.#find(identity, key, now)
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

  /** Whether those of the project must be read again before one of them, or the lack of one, counts. */
  isStale(answering: readonly KeptApproval[] | undefined): boolean {
    const areOwn = answering?.every(isOfSession) === true
    return !areOwn && this.#sources.project.isStale
  }

  refresh(): Promise<void> {
    return this.#sources.project.refresh()
  }

  /** Those that a call met and that had stood once. */
  former(called: Called, { approvalKey, subjects }: Approvable): readonly KeptApproval[] {
    const now = this.#sources.clock.now()
    const keys = new Set([approvalKey, ...subjects.flatMap(({ key, within = [] }) => [key, ...within])])
    const identity = identityOfCalled(called)
    const ended = [...keys].flatMap((key) => [this.#own.get(identity, key) ?? [], this.#sources.project.find(identity, key) ?? []].flat())
    return ended.filter((approval) => !approval.stands(now))
  }

  /** Those for a tool of this name and one of these keys that was another one then, or has other callers. */
  ofOthers({ tool }: Called, { approvalKey, subjects }: Approvable): readonly Approval[] {
    const keys = new Set([approvalKey, ...subjects.map(({ key }) => key)])
    return this.standing().filter((approval) => approval.tool === tool.name && keys.has(approval.approvalKey))
  }

  /** Calls are let through by them. */
  use(approvals: readonly KeptApproval[]): void {
    const { clock, project } = this.#sources
    const now = clock.now()
    for (const approval of approvals) {
      approval.use(now)
      if (approval.grant.scope === 'project') project.noteUse(approval)
    }
  }

  /** A call asks although it was approved once. What has expired is told of, once. */
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

  remember(called: Called, approvalKey: string, scope: ApprovalScope, by: string): void {
    const { sessionId, workspace, clock, terms, events, project } = this.#sources
    const { sessionMs, projectMs } = terms()
    const given = { called, approvalKey, workspace, sessionId, by, now: clock.now() }
    const grant = makeGrant({ ...given, scope: 'session', lastsMs: sessionMs })
    const keep = () => this.#own.set(identityOfCalled(called), new KeptApproval(grant))
    // Where it cannot be kept for the project, it was still a yes for as long as this session lasts.
    if (scope === 'project') return project.add(makeGrant({ ...given, scope, lastsMs: projectMs }), keep)
    keep()
    const { grantedBy, expiresAt } = grant
    events.emit({ type: 'ApprovalGranted', ...eventFieldsOf(grant), sessionId, grantedBy, expiresAt })
  }

  /** Hears of each that is given for the project. */
  onProjectGrant(listener: () => void): () => void {
    return this.#sources.project.onGrant(listener)
  }

  /** Its own, those that have ended too. */
  own(): readonly Approval[] {
    const now = this.#sources.clock.now()
    return this.#own.all().map((approval) => approval.view(now))
  }

  /** Everything that calls of this session may be answered by, from the oldest. */
  standing(): readonly Approval[] {
    const now = this.#sources.clock.now()
    return [...this.#own.all(), ...this.#sources.project.all()].map((approval) => approval.view(now))
      .filter(({ status }) => status === 'standing').toSorted(byAge)
  }

  /** Ends those of its own that are meant. */
  revoke(isMeant: (approval: Approval) => boolean, end: ApprovalEnd): void {
    const { clock, events } = this.#sources
    for (const approval of this.#own.all()) {
      if (!isMeant(approval.view(clock.now())) || !approval.end(end)) continue
      events.emit({ type: 'ApprovalRevoked', ...eventFieldsOf(approval.grant), revokedBy: end.by ?? '' })
    }
  }

  #findOwn(identity: string, approvalKey: string, now: number): KeptApproval | undefined {
    const own = this.#own.get(identity, approvalKey)
    return own?.stands(now) ? own : undefined
  }

  #find(identity: string, approvalKey: string, now: number): KeptApproval | undefined {
    const own = this.#findOwn(identity, approvalKey, now)
    if (own) return own
    const shared = this.#sources.project.find(identity, approvalKey)
    return shared?.stands(now) ? shared : undefined
  }
}

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

/** The nearest layer decides, as for any other setting; but a project's own file can only make it shorter. */
export function approvalTerms(layers: readonly LayerConfig[]): ApprovalTerms {
  const days = termOf('projectDays', layers, PROJECT_DAYS)
  const minutes = termOf('sessionMinutes', layers, Infinity)
  return { projectMs: days * DAY_MS, sessionMs: Number.isFinite(minutes) ? minutes * MINUTE_MS : undefined }
}

function termOf(name: Term, layers: readonly LayerConfig[], standard: number): number {
  const said = (of: (layer: LayerConfig['layer']) => boolean) =>
    layers.filter(({ layer }) => of(layer)).map(({ config }) => config.approvals?.[name]).findLast((term) => term !== undefined)
  return Math.min(said((layer) => layer !== 'project') ?? standard, said((layer) => layer === 'project') ?? Infinity)
}
