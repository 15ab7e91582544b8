import type { Clock, Store, Work } from '@bulkhead/contract'
import type { EventBus } from '../../records/events.ts'
import { PendingWrites } from '../../records/call-journal.ts'
import type { Retention } from '../../records/retention.ts'
import { identityOf, grantedFieldsOf, type Approval, type ApprovalEnd, type ApprovalGrant } from './approval.ts'
import { ApprovalLedger, damagedApproval, type DamagedApproval } from './approval-ledger.ts'
import { ApprovalIndex, KeptApproval } from './kept-approval.ts'

export interface ProjectApprovalSources {
  readonly store: Store
  readonly work: Pick<Work, 'revision'>
  readonly workspace: string
  readonly events: EventBus
  readonly clock: Clock
  readonly retention: Pick<Retention, 'approvalMs'>
}

const READING = 'reading project approvals'
/** Uses are counted at once and stored later, so that no call waits. */
const COUNT_EVERY_MS = 2_000
/**
 * The approvals may change while they are read. More rounds would only follow processes that never stop changing them.
 */
const ROUNDS = 3

/**
 * Approvals for every session in one workspace, cached from the store at one revision. A call that one of them allows
 * starts only if that is still the revision; before a person is asked, it is compared, too. If the store fails, a person
 * is asked: a fault never allows a call.
 */
export class ProjectApprovals {
  readonly ledger: ApprovalLedger
  readonly #sources: ProjectApprovalSources
  readonly #known = new ApprovalIndex()
  readonly #used = new Set<KeptApproval>()
  readonly #writes: PendingWrites
  readonly #listeners = new Set<() => void>()
  #revision: number | undefined
  #loading: Promise<void> | undefined
  /** Whether the store said that they changed. */
  #isHinted = false
  #loaded = false
  /** Whether the fault was reported. */
  #broken = false
  /** The damaged records that were reported. */
  readonly #damaged = new Set<string>()
  #stopTimer: (() => void) | undefined

  constructor(sources: ProjectApprovalSources) {
    const { store, events, clock } = sources
    this.#sources = sources
    this.ledger = new ApprovalLedger({ store, events, now: () => clock.now() })
    this.#writes = new PendingWrites('keeping project approvals', events)
  }

  /** Reads them once. Never rejects. */
  async load(): Promise<void> {
    if (!this.#loaded) await this.#refresh()
  }

  /** Of the store, as it was before they were read. undefined: they could not be read. */
  get revision(): number | undefined {
    return this.#revision
  }

  /** Whether they are known to have changed. Asks no one. */
  get isHinted(): boolean {
    return this.#isHinted || !this.#loaded
  }

  /** The store has other approvals. */
  hint(): void {
    this.#isHinted = true
  }

  /** Whether the store has other approvals than the cache, or cannot tell. Never rejects. */
  async isStale(): Promise<boolean> {
    if (!this.#loaded) return true
    try {
      return await this.#sources.work.revision() !== this.#revision
    } catch {
      return true
    }
  }

  /** Reads all of them, again if one changed meanwhile. Never rejects: if they cannot be read, there are none. */
  async refresh(): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      await this.#refresh()
      if (!this.#loaded || !await this.isStale()) return
    }
  }

  /** Concurrent calls share one read. */
  #refresh(): Promise<void> {
    this.#loading ??= this.#read().catch((thrown: unknown) => {
      this.#known.replace([])
      this.#loaded = false
      this.#revision = undefined
      if (!this.#broken) this.#sources.events.suppressed(READING, thrown)
      this.#broken = true
    }).finally(() => { this.#loading = undefined })
    return this.#loading
  }

  find(identity: string, approvalKey: string): KeptApproval | undefined {
    return this.#known.get(identity, approvalKey)
  }

  all(): readonly KeptApproval[] {
    return this.#known.all()
  }

  /** Takes effect at once. `lost` is called if the store fails: then it is gone after the next read. */
  add(grant: ApprovalGrant, lost: () => void): void {
    const kept = new KeptApproval(grant)
    this.#known.set(identityOf(grant), kept)
    void this.#writes.add(this.ledger.add(kept.stored()).catch((thrown: unknown) => {
      lost()
      throw thrown
    }))
    this.#sources.events.emit({ type: 'ApprovalGranted', ...grantedFieldsOf(grant) })
    for (const listener of this.#listeners) listener()
  }

  /** Called for each approval that is given. Returns the function that ends the subscription. */
  onGrant(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  noteUse(approval: KeptApproval): void {
    this.#used.add(approval)
    this.#stopTimer ??= this.#sources.clock.after(COUNT_EVERY_MS, () => this.#saveUses())
  }

  /** A call found that it has expired. */
  expired(approval: KeptApproval): void {
    const end: ApprovalEnd = { how: 'expired', at: approval.grant.expiresAt ?? '' }
    if (approval.end(end)) void this.#writes.add(this.ledger.end(approval.grant, end))
  }

  /** Ends in the cache what the ledger will end in the store. */
  end(isMeant: (approval: Approval) => boolean, end: ApprovalEnd): void {
    const now = this.#sources.clock.now()
    for (const approval of this.#known.all()) if (isMeant(approval.view(now))) approval.end(end)
  }

  /** Resolves when everything so far is stored, or has failed. Never rejects. */
  async settled(): Promise<void> {
    this.#saveUses()
    await this.#writes.settled()
  }

  async #read(): Promise<void> {
    const { work, workspace } = this.#sources
    this.#isHinted = false
    // Before the list: a change meanwhile leads to another read.
    const revision = await work.revision()
    const { approvals, damaged } = await this.ledger.read(workspace)
    this.#known.replace(approvals.map((approval) => {
      const identity = identityOf(approval)
      const before = this.#known.get(identity, approval.approvalKey)
      if (before?.grant.grantedAt !== approval.grantedAt) return [identity, new KeptApproval(approval, approval)]
      before.catchUp(approval)
      return [identity, before]
    }))
    this.#revision = revision
    this.#loaded = true
    this.#broken = false
    for (const one of damaged) this.#reportDamage(one)
    void this.#writes.add(this.ledger.tidy(approvals, this.#sources.retention.approvalMs))
  }

  /** Reports each record once. */
  #reportDamage(damaged: DamagedApproval): void {
    if (this.#damaged.has(damaged.id)) return
    this.#damaged.add(damaged.id)
    this.#sources.events.suppressed(READING, damagedApproval(damaged))
  }

  #saveUses(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    const used = [...this.#used]
    this.#used.clear()
    for (const approval of used) {
      const uses = approval.takeUnsaved()
      const { lastUsedAt } = approval.stored()
      void this.#writes.add(this.ledger.count(approval.grant, uses, lastUsedAt).catch((thrown: unknown) => {
        approval.untake(uses)
        this.#used.add(approval)
        throw thrown
      }))
    }
  }
}
