import { BulkheadError, type InteractionRequest, type PasskeyAssertion, type Store } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { asJson, isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { AskedRecord } from '../../records/asked-questions.ts'
import { readValue, requireApproval } from './interactors.ts'
import { requirePasskey } from './passkeys.ts'
import type { AskedQuestion } from './question-log.ts'

/** A call that waits for an answer, or has one and waits to continue. */
export interface PausedCall {
  readonly id: string
  readonly status: 'clarification_needed' | 'answered'
  readonly sessionId: string
  /** Whose session it was. Only a session of the same principal continues it. */
  readonly principal?: string
  readonly call: { readonly id: string; readonly name: string; readonly arguments: JsonObject }
  readonly question: InteractionRequest
  readonly pausedAt: string
}

export interface PausedRecord extends PausedCall, AskedRecord {
  /** The host that continues it. */
  readonly claimedBy?: string
  readonly identity: string
  readonly asked: readonly AskedQuestion[]
  readonly memory?: Json
  readonly key?: string
  readonly ownKey?: string
}

/** Stores the answer of a paused call by the key of its record. Rejects as `answer` does. */
export async function storeAnswer(store: Store, key: string, answer: Json, passkey?: PasskeyAssertion): Promise<void> {
  const id = key.slice(key.lastIndexOf('/') + 1)
  const left = await hostsThatLeft(store)
  await store.update('paused', key, (stored) => {
    if (endOf(stored) !== undefined) throw alreadyAnswered(id)
    const record = readRecord(stored)
    if (!record) throw new BulkheadError('NotFound', `No paused call has the id ${id}.`, { data: { id } })
    if (record.claimedBy !== undefined || !isOpen(record, left)) throw continuedElsewhere(id)
    return asJson(answered(record, answer, passkey))
  })
}

/** Paused calls of every workspace that wait for an answer, with the keys of their records. */
export async function waitingCalls(store: Store): Promise<readonly (PausedCall & { readonly key: string })[]> {
  const records = await store.list('paused')
  const left = await hostsThatLeft(store)
  return records.flatMap(({ key, value }) => {
    const record = readRecord(value)
    if (record?.status !== 'clarification_needed' || !isOpen(record, left)) return []
    return [{ key, ...shown(record) }]
  })
}

/** Hosts whose calls are not settled yet. */
export async function hostsThatLeft(store: Store): Promise<ReadonlySet<string>> {
  const hosts = await store.work?.hosts() ?? []
  return new Set(hosts.flatMap(({ id, state }) => state === 'gone' ? [id] : []))
}

/** Whether no host asks its question now. */
const isOpen = ({ askedBy }: AskedRecord, left: ReadonlySet<string>): boolean =>
  askedBy === undefined || left.has(askedBy)

/** What others see of it. */
export const shown = ({ id, status, sessionId, principal, call, question, pausedAt }: PausedRecord): PausedCall =>
  ({ id, status, sessionId, ...(principal !== undefined && { principal }), call, question, pausedAt })

/** When a call ended that is over. */
export function endOf(stored: Json | undefined): number | undefined {
  const end = isJsonObject(stored) ? stored['endedAt'] : undefined
  return typeof end === 'number' ? end : undefined
}

export const principalIn = (stored: Json | undefined): Json | undefined => isJsonObject(stored) ? stored['principal'] : undefined

export function answered(record: PausedRecord, answer: Json | undefined, passkey?: PasskeyAssertion): PausedRecord {
  const { id, question, status, asked } = record
  if (status === 'answered') {
    if (answer !== undefined) throw alreadyAnswered(id)
    return record
  }
  const given = { question, answer: checked(question, answer, passkey), ...(passkey && { passkey }) }
  return { ...record, status: 'answered', asked: [...asked, given] }
}

function checked(question: InteractionRequest, answer: Json | undefined, passkey: PasskeyAssertion | undefined): Json {
  try {
    if (question.kind === 'Approve') requireApproval(answer)
    requirePasskey(question, { status: 'accepted', value: answer ?? null, ...(passkey && { passkey }) })
    return readValue(question, answer)
  } catch (thrown) {
    throw new BulkheadError('InputInvalid', messageOf(thrown), { cause: thrown, data: { path: '/answer' } })
  }
}

/** Returns undefined for a record that does not have the stored form. */
export function readRecord(value: Json | undefined): PausedRecord | undefined {
  const { call, question, asked } = isJsonObject(value) ? value : {}
  const isRecord = isJsonObject(call) && isJsonObject(question) && Array.isArray(asked)
  return isRecord ? value as unknown as PausedRecord : undefined
}

export const alreadyAnswered = (id: string) =>
  new BulkheadError(
    'InteractionAlreadyAnswered', `The question of the paused call ${id} has been answered.`, { data: { id } },
  )
export const continuedElsewhere = (id: string) =>
  new BulkheadError('InteractionAlreadyAnswered', `Another host continues the paused call ${id}.`, { data: { id } })

