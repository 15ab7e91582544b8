import { BulkheadError, type Store } from '@bulkhead/contract'
import type { EventBus } from '../../records/events.ts'
import { eventFieldsOf } from './approval-events.ts'
import { projectPrefix, storeKey, viewOf, type Approval, type ApprovalEnd, type ApprovalGrant, type StoredApproval } from './approval.ts'
import { damageOf, readStored, toJson, type DamagedApproval } from './stored-approval.ts'

export interface LedgerSources {
  readonly store: Store
  readonly events: EventBus
  readonly now: () => number
}

/** What the store has of one project, or of all. */
export interface Ledger {
  readonly approvals: readonly StoredApproval[]
  readonly damaged: readonly (DamagedApproval & { readonly key: string })[]
}

/** What has ended is kept this long, so that it can be told why something is asked again. */
const KEPT_AFTER_END_MS = 90 * 24 * 60 * 60 * 1000

/** The approvals for projects, as the store has them. Every method rejects with StoreUnavailable. */
export class ApprovalLedger {
  readonly #sources: LedgerSources

  constructor(sources: LedgerSources) {
    this.#sources = sources
  }

  async read(workspace?: string): Promise<Ledger> {
    const records = await this.#sources.store.list('approval', workspace === undefined ? '' : projectPrefix(workspace))
    const read = records.map((record) => ({ record, stored: readStored(record.key, record.value) }))
    return {
      approvals: read.flatMap(({ stored }) => stored ?? []),
      damaged: read.flatMap(({ record, stored }) => stored ? [] : [{ key: record.key, ...damageOf(record) }]),
    }
  }

  view(stored: StoredApproval): Approval {
    return viewOf(stored, this.#sources.now())
  }

  /** What is damaged has nothing that could be ended. */
  async remove(key: string): Promise<void> {
    await this.#sources.store.remove('approval', key)
  }

  async add(approval: StoredApproval): Promise<void> {
    await this.#sources.store.write('approval', storeKey(approval), toJson(approval))
  }

  /** Told of as an event by whoever ends it, and by nobody else. An approval that was given anew meanwhile stays. */
  async end(grant: ApprovalGrant, end: ApprovalEnd): Promise<void> {
    const { events } = this.#sources
    let changed = false
    await this.#change(grant, (stored) => {
      changed = stored.ended === null && stored.grantedAt === grant.grantedAt
      return changed ? { ...stored, ended: end } : stored
    })
    if (!changed) return
    const fields = eventFieldsOf(grant)
    if (end.how === 'revoked') events.emit({ type: 'ApprovalRevoked', ...fields, revokedBy: end.by ?? '' })
    else events.emit({ type: 'ApprovalExpired', ...fields, expiresAt: end.at })
  }

  async count(grant: ApprovalGrant, uses: number, lastUsedAt: string | null): Promise<void> {
    await this.#change(grant, (stored) => {
      if (stored.grantedAt !== grant.grantedAt) return stored
      const latest = (stored.lastUsedAt ?? '') > (lastUsedAt ?? '') ? stored.lastUsedAt : lastUsedAt
      return { ...stored, uses: stored.uses + uses, lastUsedAt: latest }
    })
  }

  async tidy(approvals: readonly StoredApproval[]): Promise<void> {
    const { store, now } = this.#sources
    const isOld = (approval: StoredApproval) => {
      const { ended } = viewOf(approval, now())
      return ended !== null && Date.parse(ended.at) + KEPT_AFTER_END_MS < now()
    }
    await Promise.all(approvals.filter(isOld).map((old) => store.update('approval', storeKey(old), (value) => {
      const stored = readStored(storeKey(old), value)
      return stored && !isOld(stored) ? value : undefined
    })))
  }

  /** What is not there is not made: it may have been removed by somebody else. */
  async #change(grant: ApprovalGrant, change: (stored: StoredApproval) => StoredApproval): Promise<void> {
    const key = storeKey(grant)
    await this.#sources.store.update('approval', key, (value) => {
      const stored = readStored(key, value)
      return stored ? toJson(change(stored)) : value
    })
  }
}

export const unknownApproval = (id: string): BulkheadError =>
  new BulkheadError('NotFound', `There is no approval ${JSON.stringify(id)} that stands. Look at the list of approvals for the ids there are.`, { data: { id } })
