import type { OutcomeMetadata, OutcomeOrigin, RuleAction, Store } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'

/** What a recorded session was opened with, as far as it is data. */
export interface RecordedOpening {
  readonly id: string
  readonly workspace: string
  readonly principal?: string
  /** The session that it is a sub-agent of. */
  readonly parentId?: string
  readonly openedAt: string
  /** Options of `openSession`. */
  readonly options: JsonObject
  /** Options that were code, and that can deny a call. */
  readonly code: readonly string[]
}

export interface RecordedSession extends RecordedOpening {
  /** Of its last call. */
  readonly lastAt: string
  readonly calls: number
  /** Of what is kept. */
  readonly bytes: number
  /** Calls that could not be recorded, because there were too many or the store failed. */
  readonly missing: number
}

/** JSON by its SHA-256, without secrets. */
export interface RecordedValue {
  readonly digest: string
  readonly bytes: number
  /** Absent if it was too long to keep. */
  readonly value?: Json
}

/** A call as it ended. */
export interface RecordedCall {
  readonly id: string
  /** When it was proposed. */
  readonly at: string
  readonly tool: string
  readonly origin: OutcomeOrigin | null
  /** Of another tool or a program, which made the call. */
  readonly parentCallId?: string
  /** What the policy said. Absent if the call was refused before. */
  readonly decision?: RuleAction
  /** Why. */
  readonly reason?: string
  readonly arguments: RecordedValue
  /** Without its metadata. */
  readonly outcome: RecordedValue
  readonly metadata: OutcomeMetadata
}

/** A call in the store: its values are records of their own. */
export type StoredCall = Omit<RecordedCall, 'arguments' | 'outcome'> & Readonly<Record<'arguments' | 'outcome', RecordedValue>>

/** Everything of one session has its prefix, so that it is read and removed at once, and shares nothing with others. */
export const partsOf = (id: string): string => `of/${id}/`
export const headKey = (id: string): string => `session/${id}`
export const HEADS = 'session/'
export const callKey = (id: string, begun: number, number: number): string =>
  `${partsOf(id)}call/${String(begun).padStart(15, '0')}-${String(number).padStart(6, '0')}`
export const valueKey = (id: string, digest: string): string => `${partsOf(id)}value/${digest}`

/** undefined for a record of an unknown form. */
export function readHead(value: Json | undefined): RecordedSession | undefined {
  if (!isJsonObject(value)) return undefined
  const { id, workspace, openedAt, options, code, lastAt, calls, bytes, missing } = value
  const texts = [id, workspace, openedAt, lastAt].every((one) => typeof one === 'string')
  const numbers = [calls, bytes, missing].every((one) => typeof one === 'number')
  return texts && numbers && isJsonObject(options) && Array.isArray(code) ? value as unknown as RecordedSession : undefined
}

export function readCall(value: Json): StoredCall | undefined {
  if (!isJsonObject(value)) return undefined
  const { id, at, tool, metadata } = value
  const texts = [id, at, tool].every((one) => typeof one === 'string')
  return texts && isJsonObject(metadata) && isValue(value['arguments']) && isValue(value['outcome'])
    ? value as unknown as StoredCall : undefined
}

const isValue = (value: Json | undefined): boolean =>
  isJsonObject(value) && typeof value['digest'] === 'string' && typeof value['bytes'] === 'number'

/** Removes one session from the store. Rejects with StoreUnavailable. */
export async function removeRecorded(store: Pick<Store, 'list' | 'remove'>, id: string): Promise<void> {
  // The head goes last: while it is there, what is left is found again.
  for (const { key } of await store.list('recording', partsOf(id))) await store.remove('recording', key)
  await store.remove('recording', headKey(id))
}
