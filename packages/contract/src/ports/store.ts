import type { Json } from '../json.ts'

export const STORE_COLLECTIONS = ['state', 'approval', 'paused', 'trust', 'call'] as const
export type StoreCollection = (typeof STORE_COLLECTIONS)[number]

export interface StoredRecord {
  readonly key: string
  readonly value: Json
}

/** What the host remembers. A resolved write is durable as far as the store is. Every method rejects with StoreUnavailable. */
export interface Store {
  /** Nothing of it outlives the process, so what only the next one would read need not be written. */
  readonly forgets?: boolean
  read(collection: StoreCollection, key: string): Promise<Json | undefined>
  write(collection: StoreCollection, key: string, value: Json): Promise<void>
  remove(collection: StoreCollection, key: string): Promise<void>
  /** In the order of their keys. */
  list(collection: StoreCollection, prefix?: string): Promise<readonly StoredRecord[]>
  /** Adds to the end of the audit; resolves with the position, from 1. */
  append(record: Json): Promise<number>
  records(from?: number, limit?: number): Promise<readonly { readonly position: number; readonly record: Json }[]>
  close(): Promise<void>
}
