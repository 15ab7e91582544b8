import { BulkheadError, type StoredRecord } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { idOf, identityOf, storeKey, type StoredApproval } from './approval.ts'

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
