import type { Json } from '@bulkhead/kit/json'
import type { AuditGroup } from './audit-group.ts'

export const STORE_COLLECTIONS = ['state', 'approval', 'paused', 'trust', 'call'] as const
export type StoreCollection = (typeof STORE_COLLECTIONS)[number]

export interface StoredRecord {
  readonly key: string
  /** null where it is damaged. */
  readonly value: Json
  /** What is wrong with it, where it cannot be read: "it …". Such a record can be removed, or written anew. */
  readonly damage?: string
}

/**
 * One record of the audit. A link is a digest of the link before it and of the records since then, so that none can be changed,
 * taken out or moved without all that follow showing it. null: written together with the next one, and so under its link.
 */
export interface AuditEntry {
  readonly position: number
  readonly record: Json
  readonly link: string | null
  /** What the link is a digest of, where that is not the records themselves: they were kept as a group of few forms. */
  readonly text?: string
}

/** From where to where the audit reaches. Both positions are 0 before the first record. */
export interface AuditSpan {
  readonly first: number
  /** The link that the first one continues. */
  readonly before: string
  readonly last: number
  readonly link: string
}

/**
 * Notes of what is under way, by whoever makes them. To save those of one moment costs one call to the system and no wait, and
 * they outlive the process. What a loss of power takes is the last of them.
 */
export interface Notes {
  /** Nobody else has, or will have, this name. Throws StoreUnavailable. */
  open(owner: string): Notebook
  owners(): Promise<readonly string[]>
  /** What an owner that has ended left. */
  left(owner: string): Promise<readonly string[]>
  discard(owner: string): Promise<void>
}

export interface Notebook {
  /**
   * One line. Saved within a moment, also when nobody asks for it. Throws StoreUnavailable. The numbers are small, and used again once
   * they were dropped.
   */
  put(id: number, text: string): void
  /** Idempotent. Saved within a moment; must not throw. */
  drop(id: number): void
  /** When this returns, all that was put outlives the process. What could not be saved is lost. Throws StoreUnavailable. */
  save(): void
}

/** What the host remembers. A resolved write is durable as far as the store is. Every method rejects with StoreUnavailable. */
export interface Store {
  /** Nothing of it outlives the process, so what only the next one would read need not be written. */
  readonly forgets?: boolean
  read(collection: StoreCollection, key: string): Promise<Json | undefined>
  write(collection: StoreCollection, key: string, value: Json): Promise<void>
  remove(collection: StoreCollection, key: string): Promise<void>
  /**
   * Reads, changes and writes in one step, also among processes. undefined removes, or leaves absent what is. Resolves with
   * what is kept then. `change` must be pure: it may run more than once. What it throws is what this rejects with, and nothing
   * has changed.
   */
  update(collection: StoreCollection, key: string, change: (value: Json | undefined) => Json | undefined): Promise<Json | undefined>
  /** In the order of their keys. One that is damaged is among them, and costs no other. */
  list(collection: StoreCollection, prefix?: string): Promise<readonly StoredRecord[]>
  /**
   * Another number whenever an approval was written or removed, in whichever process; told at once, and cheap enough to be asked
   * for every call. Absent where nobody else can write. Throws StoreUnavailable.
   */
  approvalRevision?(): number
  /** Adds to the end of the audit; resolves with the position, from 1. */
  append(record: Json): Promise<number>
  /**
   * The same for several at once, which costs a fraction: all of them or none. They are not looked at: whoever hands them in has
   * made them of plain JSON. Resolves with the position of the last.
   */
  appendAll?(group: AuditGroup): Promise<number>
  /**
   * Takes the records up to `last` out of the audit, which must be under `link` there, and adds one that says who did, in one step.
   * Whoever asks has what is taken out elsewhere. Resolves with the position of the one that was added.
   */
  archive?(last: number, link: string, by: string): Promise<number>
  readonly notes?: Notes
  records(from?: number, limit?: number): Promise<readonly AuditEntry[]>
  auditSpan(): Promise<AuditSpan>
  close(): Promise<void>
}
