import { BulkheadError, type Store, type StoredRecord } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { EventBus } from '../../records/events.ts'
import {
  eventFieldsOf, identityOf, idOf, projectPrefix, storeKey, viewOf, type Approval, type ApprovalEnd, type ApprovalGrant, type StoredApproval,
} from './approval.ts'

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

/** What the store has in the place of an approval and is none. Nothing is answered by it. */
export interface DamagedApproval {
  readonly id: string
  /** What is wrong: "it …". */
  readonly damage: string
}

/** undefined for what is not of the form that is written here, or not what was written under this key: it costs a question. */
export function readStored(key: string, value: Json | undefined): StoredApproval | undefined {
  if (!isJsonObject(value) || !isOfForm(value)) return undefined
  const stored = value as unknown as StoredApproval
  const { scope, workspace, approvalKey, id } = stored
  return scope === 'project' && id === idOf(scope, workspace, identityOf(stored), approvalKey) && key === storeKey(stored) ? stored : undefined
}

export const toJson = (stored: StoredApproval): Json => stored as unknown as Json

export function damageOf({ key, damage = 'is not an approval as it was given' }: StoredRecord): DamagedApproval {
  return { id: key.slice(key.lastIndexOf('/') + 1), damage }
}

export const damagedApproval = ({ id, damage }: DamagedApproval): BulkheadError => new BulkheadError(
  'StoreUnavailable', `The stored approval ${id} is damaged: it ${damage}. It answers nothing; revoke it to remove it.`, { data: { id } },
)

const isText = (value: Json | undefined): boolean => typeof value === 'string'
const isDate = (value: Json | undefined): boolean => typeof value === 'string' && !Number.isNaN(Date.parse(value))
const haveTexts = (value: Json | undefined, names: readonly string[]): boolean => isJsonObject(value) && names.every((name) => isText(value[name]))

const areCallers = (value: Json): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((caller) => haveTexts(caller, ['tool', 'extension', 'layer', 'digest']))

function isOfForm(value: { readonly [name: string]: Json }): boolean {
  const { origin, digests, ended = null, uses, lastUsedAt = null, grantedAt, expiresAt } = value
  return haveTexts(value, ['id', 'tool', 'approvalKey', 'workspace', 'sessionId', 'grantedBy'])
    && haveTexts(origin, ['layer', 'extension', 'version']) && haveTexts(digests, ['package', 'tool', 'capability'])
    && (value['callers'] === undefined || areCallers(value['callers'])) && isDate(grantedAt) && isDate(expiresAt) && (lastUsedAt === null || isDate(lastUsedAt)) && Number.isInteger(uses)
    && (ended === null || (isJsonObject(ended) && isDate(ended['at']) && (ended['how'] === 'expired' || ended['how'] === 'revoked')))
}
