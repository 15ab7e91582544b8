import { approve, MODE_QUESTION, type Verdict } from '../model/verdict.ts'
import { spanOf, viewOf, type Approval, type ApprovalEnd, type ApprovalGrant, type StoredApproval } from './approval.ts'

/** An approval in memory. It is checked and counted for every call, so both are cheap. */
export class KeptApproval {
  readonly grant: ApprovalGrant
  /** Its verdict on a call that it allows. */
  readonly verdict: Verdict
  /** For a call that it allows alone. */
  readonly alone: readonly [KeptApproval] = [this]
  /** Uses that are not in the store yet. */
  #unsavedUses = 0
  #savedUses: number
  #lastUsedAt: number
  readonly #startsAt: number
  #endsAt: number
  #end: ApprovalEnd | null
  /** Of a limited one: the calls that it has allowed, in all hosts, with the first. */
  #counted: number
  readonly #answers: ReadonlySet<string>

  constructor(grant: ApprovalGrant, { uses = 0, lastUsedAt = null, ended = null }: Partial<StoredApproval> = {}) {
    this.grant = grant
    this.verdict = approve('approval', 'approval', `the key was approved before (${grant.scope} approval ${grant.id})`)
    this.#savedUses = uses
    this.#counted = uses + 1
    this.#lastUsedAt = lastUsedAt === null ? Number.NaN : Date.parse(lastUsedAt)
    this.#end = ended
    this.#answers = new Set(grant.answers ?? [MODE_QUESTION])
    const { from, until } = spanOf(grant)
    this.#startsAt = from
    this.#endsAt = ended ? -Infinity : until
  }

  /** Whether it was given to all of these questions. */
  covers(questions: readonly string[]): boolean {
    return questions.every((question) => this.#answers.has(question))
  }

  stands(now: number): boolean {
    return now < this.#endsAt && now >= this.#startsAt && !this.isUsedUp
  }

  /** Its uses are counted in the store, before the call runs. */
  get isLimited(): boolean {
    return this.grant.maxUses !== undefined
  }

  get isUsedUp(): boolean {
    return this.grant.maxUses !== undefined && this.#counted >= this.grant.maxUses
  }

  /** What the store has counted. */
  counted(calls: number): void {
    this.#counted = calls
    this.#savedUses = calls - 1
  }

  /** Revoked, not just expired. */
  get isRevoked(): boolean {
    return this.#end?.how === 'revoked'
  }

  use(now: number): void {
    if (!this.isLimited) this.#unsavedUses++
    this.#lastUsedAt = now
  }

  /** The uses to add to the store now. */
  takeUnsaved(): number {
    return this.#moveUses(this.#unsavedUses)
  }

  /** Adding these uses to the store failed. */
  untake(uses: number): void {
    this.#moveUses(-uses)
  }

  #moveUses(uses: number): number {
    this.#unsavedUses -= uses
    this.#savedUses += uses
    return uses
  }

  /** The first end holds. Returns whether this was the first. */
  end(how: ApprovalEnd): boolean {
    if (this.#end) return false
    this.#end = how
    this.#endsAt = -Infinity
    return true
  }

  /** Takes over the stored state. Uses that are not stored yet stay. */
  catchUp({ uses, lastUsedAt, ended }: StoredApproval): void {
    if (!this.isLimited) this.#savedUses = uses
    else if (uses + 1 > this.#counted) this.counted(uses + 1)
    const last = lastUsedAt === null ? Number.NaN : Date.parse(lastUsedAt)
    if (!(this.#lastUsedAt >= last)) this.#lastUsedAt = last
    if (ended) this.end(ended)
  }

  stored(): StoredApproval {
    return {
      ...this.grant, ended: this.#end, uses: this.#savedUses + this.#unsavedUses,
      lastUsedAt: Number.isNaN(this.#lastUsedAt) ? null : new Date(this.#lastUsedAt).toISOString(),
    }
  }

  view(now: number): Approval {
    return viewOf(this.stored(), now)
  }
}

/** Approvals by the identity of their tool and by their key. */
export class ApprovalIndex {
  #byTool = new Map<string, Map<string, KeptApproval>>()

  get(identity: string, approvalKey: string): KeptApproval | undefined {
    return this.#byTool.get(identity)?.get(approvalKey)
  }

  set(identity: string, approval: KeptApproval): void {
    const keys = this.#byTool.get(identity) ?? new Map<string, KeptApproval>()
    this.#byTool.set(identity, keys.set(approval.grant.approvalKey, approval))
  }

  all(): readonly KeptApproval[] {
    return [...this.#byTool.values()].flatMap((keys) => [...keys.values()])
  }

  replace(approvals: readonly (readonly [identity: string, approval: KeptApproval])[]): void {
    this.#byTool = new Map()
    for (const [identity, approval] of approvals) this.set(identity, approval)
  }
}
