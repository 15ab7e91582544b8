import { BulkheadError, type Store, type StoredRecord } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { EventBus } from '../../records/events.ts'
import { ApprovalCounts } from './approval-counts.ts'
import {
  eventFieldsOf, identityOf, idOf, projectPrefix, storeKey, viewOf, type Approval, type ApprovalEnd,
  type ApprovalGrant, type StoredApproval,
} from './approval.ts'

export interface LedgerSources {
  readonly store: Store
  readonly events: EventBus
  readonly now: () => number
}

/** The approvals of one project in the store, or of all projects. */
export interface Ledger {
  readonly approvals: readonly StoredApproval[]
  readonly damaged: readonly (DamagedApproval & { readonly key: string })[]
}

/** The approvals for projects in the store. Every method rejects with StoreUnavailable. */
export class ApprovalLedger {
  readonly counts: ApprovalCounts
  readonly #sources: LedgerSources

  constructor(sources: LedgerSources) {
    this.#sources = sources
    this.counts = new ApprovalCounts(sources.store)
  }

  async read(workspace?: string): Promise<Ledger> {
    const records = await this.#sources.store.list('approval', workspace === undefined ? '' : projectPrefix(workspace))
    const read = await Promise.all(records.map(async (record) => {
      const stored = readStored(record.key, record.value)
      return { record, stored: stored?.maxUses === undefined ? stored : await this.counts.withUses(stored) }
    }))
    return {
      approvals: read.flatMap(({ stored }) => stored ?? []),
      damaged: read.flatMap(({ record, stored }) => stored ? [] : [{ key: record.key, ...damageOf(record) }]),
    }
  }

  view(stored: StoredApproval): Approval {
    return viewOf(stored, this.#sources.now())
  }

  /** Removes a damaged record: it has no approval that could be ended. */
  async remove(key: string): Promise<void> {
    await this.#sources.store.remove('approval', key)
  }

  async add(approval: StoredApproval): Promise<void> {
    await this.#sources.store.write('approval', storeKey(approval), toJson(approval))
  }

  /** Emits the event once, in the process that ends it. An approval that was given again meanwhile stays. */
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

  /** Removes those that ended longer ago. They are kept for a while, so that `explain` can say why a call asks again. */
  async tidy(approvals: readonly StoredApproval[], approvalMs: number): Promise<void> {
    const { store, now } = this.#sources
    const isOld = (approval: StoredApproval) => {
      const { ended } = viewOf(approval, now())
      return ended !== null && Date.parse(ended.at) + approvalMs < now()
    }
    await Promise.all(approvals.filter(isOld).map((old) => store.update('approval', storeKey(old), (value) => {
      const stored = readStored(storeKey(old), value)
      return stored && !isOld(stored) ? value : undefined
    })))
    await Promise.all(approvals.filter((old) => old.maxUses !== undefined && isOld(old)).map((old) => this.counts.forget(old)))
  }

  /** Creates no record: another process may have removed it. */
  async #change(grant: ApprovalGrant, change: (stored: StoredApproval) => StoredApproval): Promise<void> {
    const key = storeKey(grant)
    await this.#sources.store.update('approval', key, (value) => {
      const stored = readStored(key, value)
      return stored ? toJson(change(stored)) : value
    })
  }
}

export const unknownApproval = (id: string): BulkheadError =>
  new BulkheadError(
    'NotFound', `There is no active approval ${JSON.stringify(id)}. List the approvals to see their ids.`,
    { data: { id } },
  )

/** A record in the store that is not a valid approval. It allows nothing. */
export interface DamagedApproval {
  readonly id: string
  /** The fault, worded to follow "it". */
  readonly damage: string
}

/** Returns undefined for a record that does not have the stored form or does not belong to this key. */
function readStored(key: string, value: Json | undefined): StoredApproval | undefined {
  if (!isJsonObject(value) || !isOfForm(value)) return undefined
  const stored = value as unknown as StoredApproval
  const { scope, workspace, approvalKey, id } = stored
  const isWhole = scope === 'project' && id === idOf(scope, workspace, identityOf(stored), approvalKey)
  return isWhole && key === storeKey(stored) ? stored : undefined
}

/** An approval that was stored with its session. Empty if it is not one of this session and principal. */
export function readOwnApproval(value: Json, sessionId: string, principal: string | undefined): readonly StoredApproval[] {
  if (!isJsonObject(value) || !isOfForm(value)) return []
  const stored = value as unknown as StoredApproval
  const { scope, approvalKey, id } = stored
  const isWhole = scope === 'session' && stored.sessionId === sessionId && stored.principal === principal
    && id === idOf(scope, sessionId, identityOf(stored), approvalKey)
  return isWhole ? [stored] : []
}

const toJson = (stored: StoredApproval): Json => stored as unknown as Json

function damageOf({ key, damage = 'is not the approval that was stored' }: StoredRecord): DamagedApproval {
  return { id: key.slice(key.lastIndexOf('/') + 1), damage }
}

export const damagedApproval = ({ id, damage }: DamagedApproval): BulkheadError => new BulkheadError(
  'StoreUnavailable', `The stored approval ${id} is damaged: it ${damage}. It allows nothing. Revoke it to remove it.`,
  { data: { id } },
)

const isText = (value: Json | undefined): boolean => typeof value === 'string'
const isDate = (value: Json | undefined): boolean => typeof value === 'string' && !Number.isNaN(Date.parse(value))
const haveTexts = (value: Json | undefined, names: readonly string[]): boolean =>
  isJsonObject(value) && names.every((name) => isText(value[name]))

const areAnswers = (value: Json): boolean => Array.isArray(value) && value.every(isText)

const areCallers = (value: Json): boolean =>
  Array.isArray(value) && value.length > 0
  && value.every((caller) => haveTexts(caller, ['tool', 'extension', 'layer', 'digest']))

function isOfForm(value: { readonly [name: string]: Json }): boolean {
  const { origin, digests, ended = null, uses, lastUsedAt = null, grantedAt, expiresAt } = value
  return haveTexts(value, ['id', 'tool', 'approvalKey', 'workspace', 'sessionId', 'grantedBy'])
    && haveTexts(origin, ['layer', 'extension', 'version']) && haveTexts(digests, ['package', 'tool', 'capability'])
    && ['covers', 'principal', 'until'].every((name) => value[name] === undefined || isText(value[name]))
    && (value['answers'] === undefined || areAnswers(value['answers']))
    && (value['callers'] === undefined || areCallers(value['callers'])) && isDate(grantedAt)
    && (isDate(expiresAt) || (value['scope'] === 'session' && expiresAt === null))
    && isLimit(value['maxUses'])
    && (lastUsedAt === null || isDate(lastUsedAt)) && Number.isInteger(uses) && (ended === null || isEnd(ended))
}

const isLimit = (value: Json | undefined): boolean =>
  value === undefined || (typeof value === 'number' && Number.isSafeInteger(value) && value > 0)

const isEnd = (value: Json): boolean =>
  isJsonObject(value) && isDate(value['at']) && (value['how'] === 'expired' || value['how'] === 'revoked')
