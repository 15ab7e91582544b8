import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { ChangeStore } from './changes.ts'
import type { Placements } from './placements.ts'
import type { Work } from './work.ts'

export const STORE_COLLECTIONS = [
  'state', 'approval', 'paused', 'trust', 'call', 'outcome', 'session', 'budget', 'client', 'question',
  'recording', 'capture',
] as const
export type StoreCollection = (typeof STORE_COLLECTIONS)[number]

export interface StoredRecord {
  readonly key: string
  /** null if the record is damaged. */
  readonly value: Json
  /** Why the record cannot be read: "it …". Such a record can be removed or overwritten. */
  readonly damage?: string
}

/**
 * One record of the audit. A link is a digest of the previous link and the records since then, so any change breaks all
 * later links. null: the record was written together with the next one and is covered by its link.
 */
export interface AuditEntry {
  readonly position: number
  readonly record: Json
  readonly link: string | null
  /** The text that the link is a digest of, if the records were stored as an AuditGroup. */
  readonly text?: string
}

/** The members that many records share, and the names of the members that differ. */
export interface AuditForm {
  readonly same: JsonObject
  readonly own: readonly string[]
}

/** One record: the index of its form, then its own values in the order of their names. */
export type AuditRow = readonly [form: number, ...own: Json[]]

/** Records that are stored together, in order. Contract: plain JSON. */
export interface AuditGroup {
  readonly forms: readonly AuditForm[]
  /** The JSON of one AuditRow each, without the brackets. */
  readonly rows: readonly string[]
  /** One string per row, or undefined. The store keeps only its SHA-256, in hex, as the last value of the row. */
  readonly texts: readonly (string | undefined)[]
}

/** The record of a row, with sorted members. */
export function auditRecord({ same, own }: AuditForm, [, ...values]: AuditRow): JsonObject {
  const members = [...Object.entries(same), ...own.map((name, index): [string, Json] => [name, values[index] ?? null])]
  return Object.fromEntries(members.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** The range of the audit. Both positions are 0 before the first record. */
export interface AuditSpan {
  readonly first: number
  /** The link before the first record. */
  readonly before: string
  readonly last: number
  readonly link: string
}

/** The audit of one host, if several keep theirs in one store. */
export interface AuditChain {
  /** Of the host. Unique in the store. */
  readonly name: string
  records(from?: number, limit?: number): Promise<readonly AuditEntry[]>
  auditSpan(): Promise<AuditSpan>
  /** As `archive` of the store. */
  archive(last: number, link: string, by: string): Promise<number>
}

/** Records of an audit that were written together, as a store keeps them. */
export interface AdoptedRecords {
  /** Of the first. */
  readonly position: number
  readonly count: number
  /** The text that the link is a digest of. */
  readonly record: string
  readonly link: string
}

/** The host's storage. A resolved write is as durable as the store. Every method rejects with StoreUnavailable. */
export interface Store {
  /** Set if nothing survives the process, so records for the next process need not be written. */
  readonly forgets?: boolean
  /** Absolute paths of its files, as `ProtectedPlaces` takes them. No tool may write them, wherever they are. */
  readonly files?: readonly string[]
  /**
   * Throws StoreUnavailable if its files were removed, moved or replaced while it is open: what is written then is
   * lost. Cheap enough for every call.
   */
  requireFiles?(): void
  read(collection: StoreCollection, key: string): Promise<Json | undefined>
  write(collection: StoreCollection, key: string, value: Json): Promise<void>
  remove(collection: StoreCollection, key: string): Promise<void>
  /**
   * Reads, changes and writes atomically, also between processes. undefined removes the record. Resolves with the
   * stored value. `change` must be pure, because it may run more than once. If it throws, nothing changes and this
   * rejects with the same error.
   */
  update(
    collection: StoreCollection, key: string, change: (value: Json | undefined) => Json | undefined,
  ): Promise<Json | undefined>
  /** Ordered by key. Includes damaged records. */
  list(collection: StoreCollection, prefix?: string): Promise<readonly StoredRecord[]>
  /** Appends to the audit; resolves with the position, from 1. */
  append(record: Json): Promise<number>
  /**
   * Appends several records at a fraction of the cost: all or none. The store does not check them. Resolves with the
   * last position.
   */
  appendAll?(group: AuditGroup): Promise<number>
  /**
   * Atomically removes the records up to `last`, whose link must be `link`, and appends a record of the removal by
   * `by`. The caller has saved the removed records. Resolves with the position of the appended record.
   */
  archive?(last: number, link: string, by: string): Promise<number>
  /** The hosts on this store. Absent: only one host uses it, and open calls are records of the collection `call`. */
  readonly work?: Work
  /** Calls on workers. Absent: there are none, because the store is on this machine. */
  readonly placements?: Placements
  /** What calls changed, for undo. Absent: nothing is recorded. */
  readonly changes?: ChangeStore
  records(from?: number, limit?: number): Promise<readonly AuditEntry[]>
  auditSpan(): Promise<AuditSpan>
  /** The audits of all hosts on the store, ordered by name. Absent: there is one, which `records` reads. */
  chains?(): Promise<readonly AuditChain[]>
  /**
   * Continues the audit `name` with records of another store, as they are. An empty audit starts after `start`, which is
   * the last record that was archived. Rejects with StoreUnavailable unless each row continues the chain; then nothing
   * is added.
   */
  adopt?(
    name: string, start: { readonly position: number; readonly link: string }, rows: readonly AdoptedRecords[],
  ): Promise<void>
  close(): Promise<void>
}
