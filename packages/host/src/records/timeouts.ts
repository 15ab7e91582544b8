import {
  BulkheadError, CALL_LIMITS, type AuditChain, type AuditEntry, type AuditGroup, type AuditSpan, type ChangeStore, type Clock,
  type Placements, type Store,
  type StoreCollection, type StoredRecord, type Work,
} from '@bulkhead/contract'
import { within } from '@bulkhead/kit/deadlines'
import type { Json } from '@bulkhead/kit/json'
import { approvalsChanged } from './sole-work.ts'

/** Longer than a working store ever takes. It waits for other processes and for the disk itself. */
const STORE_TIMEOUT_MS = 30_000

/**
 * The embedder's store with a timeout. Every request settles, and a throw becomes a rejection, so a store that does not
 * answer cannot block a call or the close of a host.
 */
export class StoreWithTimeout implements Store {
  readonly forgets: boolean
  /** Optional members exist if the store has them. */
  readonly files?: readonly string[]
  readonly requireFiles?: () => void
  readonly appendAll?: (group: AuditGroup) => Promise<number>
  readonly archive?: (last: number, link: string, by: string) => Promise<number>
  readonly chains?: () => Promise<readonly AuditChain[]>
  readonly work?: Work
  /** With time limits of its own. */
  readonly placements?: Placements
  readonly changes?: ChangeStore
  readonly #store: Store
  readonly #clock: Clock

  constructor(store: Store, clock: Clock) {
    this.forgets = store.forgets === true
    this.#store = store
    this.#clock = clock
    const { work, changes, placements } = store
    if (placements) this.placements = placements
    if (store.files) this.files = store.files
    if (store.requireFiles) this.requireFiles = () => store.requireFiles!()
    if (store.appendAll) this.appendAll = (group) => this.#ask(() => store.appendAll!(group))
    if (store.archive) this.archive = (last, link, by) => this.#ask(() => store.archive!(last, link, by))
    if (store.chains) this.chains = async () => (await this.#ask(() => store.chains!())).map((chain) => this.#chain(chain))
    if (work) {
      this.work = {
        ...(work.restMs !== undefined && { restMs: work.restMs }),
        // A seat has time limits of its own: a timer for each start would cost each call.
        join: (host, listener) => this.#ask(() => work.join(host, listener)),
        hosts: () => this.#ask(() => work.hosts()),
        isGone: (host) => this.#ask(() => work.isGone(host)),
        revision: () => this.#ask(() => work.revision()),
        frozen: () => this.#ask(() => work.frozen()),
        freeze: (freeze) => this.#ask(() => work.freeze(freeze)),
        thaw: () => this.#ask(() => work.thaw()),
      }
    }
    if (changes) {
      this.changes = {
        add: (change, content) => this.#ask(() => changes.add(change, content)),
        list: (filter) => this.#ask(() => changes.list(filter)),
        content: (digest) => this.#ask(() => changes.content(digest)),
      }
    }
  }

  read(collection: StoreCollection, key: string): Promise<Json | undefined> {
    return this.#ask(() => this.#store.read(collection, key))
  }

  write(collection: StoreCollection, key: string, value: Json): Promise<void> {
    return this.#change(collection, () => this.#store.write(collection, key, value))
  }

  remove(collection: StoreCollection, key: string): Promise<void> {
    return this.#change(collection, () => this.#store.remove(collection, key))
  }

  update(
    collection: StoreCollection, key: string, change: (value: Json | undefined) => Json | undefined,
  ): Promise<Json | undefined> {
    return this.#change(collection, () => this.#store.update(collection, key, change))
  }

  list(collection: StoreCollection, prefix?: string): Promise<readonly StoredRecord[]> {
    return this.#ask(() => this.#store.list(collection, prefix))
  }

  append(record: Json): Promise<number> {
    return this.#ask(() => this.#store.append(record))
  }

  records(from?: number, limit?: number): Promise<readonly AuditEntry[]> {
    return this.#ask(() => this.#store.records(from, limit))
  }

  auditSpan(): Promise<AuditSpan> {
    return this.#ask(() => this.#store.auditSpan())
  }

  close(): Promise<void> {
    return this.#ask(() => this.#store.close())
  }

  #chain(chain: AuditChain): AuditChain {
    return {
      name: chain.name,
      records: (from, limit) => this.#ask(() => chain.records(from, limit)),
      auditSpan: () => this.#ask(() => chain.auditSpan()),
      archive: (last, link, by) => this.#ask(() => chain.archive(last, link, by)),
    }
  }

  /** A store that knows no hosts does not count changes of approvals. */
  #change<Value>(collection: StoreCollection, work: () => Promise<Value>): Promise<Value> {
    if (collection !== 'approval' || this.work) return this.#ask(work)
    return this.#ask(work).finally(() => approvalsChanged(this.#store))
  }

  #ask<Value>(work: () => Promise<Value>): Promise<Value> {
    return within({ clock: this.#clock, ms: STORE_TIMEOUT_MS, late: unanswered }, work)
  }
}

const unanswered = () =>
  new BulkheadError(
    'StoreUnavailable', `The store did not answer within ${STORE_TIMEOUT_MS} ms.`, { data: { reason: 'unanswered' } },
  )

/** Where results that are too long for a model are stored whole. */
export interface Sidecar {
  /** Resolves with the path a person can open. */
  save(sessionId: string, callId: string, text: string): Promise<string>
  /** A file for a result that arrives in parts. Without it the parts are kept in memory, and saved together. */
  open?(sessionId: string, callId: string): Promise<SidecarFile>
  /** The paths of the files a session has saved. Without it no tool can open them. */
  files?(sessionId: string): ReadonlySet<string>
  /** Removes everything a closed session saved. */
  discard?(sessionId: string): Promise<void>
  /** A session that was closed here is resumed. */
  reopen?(sessionId: string): void
}

/** A file that is being written. Contract: one call at a time. */
export interface SidecarFile {
  write(bytes: Uint8Array): Promise<void>
  /** Resolves with the path a person can open. */
  close(): Promise<string>
  /** Instead of `close`. */
  remove(): Promise<void>
}

const SIDECAR_TIMEOUT_MS = 10_000

/** For a sidecar that takes whole texts only. */
function fileInMemory(save: (text: string) => Promise<string>): SidecarFile {
  const parts: Uint8Array[] = []
  return {
    async write(bytes) {
      parts.push(bytes)
    },
    close: () => save(Buffer.concat(parts).toString('utf8')),
    async remove() {
      parts.length = 0
    },
  }
}

type BoundedSidecar = Sidecar & Required<Pick<Sidecar, 'open' | 'discard'>>

/** The embedder's sidecar with a timeout and a limit of bytes per session, so that it cannot hold up an outcome. */
export function sidecarWithTimeout(
  sidecar: Sidecar, clock: Clock, sessionSavedBytes: number = CALL_LIMITS.sessionSavedBytes,
): BoundedSidecar {
  const inTime = <Value>(work: () => Promise<Value>): Promise<Value> => within({
    clock, ms: SIDECAR_TIMEOUT_MS,
    late: () => new BulkheadError('InternalError', `The sidecar did not answer within ${SIDECAR_TIMEOUT_MS} ms.`),
  }, work)
  const saved = new Map<string, number>()
  const count = (sessionId: string, more: number): void => {
    const bytes = (saved.get(sessionId) ?? 0) + more
    if (bytes > sessionSavedBytes) throw tooManyBytesSaved('sessionSavedBytes', sessionSavedBytes)
    saved.set(sessionId, bytes)
  }
  return {
    async save(sessionId, callId, text) {
      count(sessionId, Buffer.byteLength(text))
      return inTime(() => sidecar.save(sessionId, callId, text))
    },
    async open(sessionId, callId) {
      const start = async (): Promise<SidecarFile> => sidecar.open?.(sessionId, callId)
        ?? fileInMemory((text) => sidecar.save(sessionId, callId, text))
      const opening = start()
      const file = await inTime(() => opening).catch((thrown: unknown) => {
        // It may be opened later.
        opening.then((late) => late.remove()).catch(() => undefined)
        throw thrown
      })
      let written = 0
      return {
        async write(bytes) {
          count(sessionId, bytes.length)
          written += bytes.length
          await inTime(() => file.write(bytes))
        },
        close: () => inTime(() => file.close()),
        async remove() {
          if (saved.has(sessionId)) count(sessionId, -written)
          await inTime(() => file.remove())
        },
      }
    },
    ...(sidecar.files ? { files: (sessionId: string) => sidecar.files!(sessionId) } : {}),
    ...(sidecar.reopen ? { reopen: (sessionId: string) => sidecar.reopen!(sessionId) } : {}),
    discard(sessionId) {
      saved.delete(sessionId)
      return inTime(async () => sidecar.discard?.(sessionId))
    },
  }
}

export const tooManyBytesSaved = (limit: 'savedBytes' | 'sessionSavedBytes', most: number): BulkheadError =>
  new BulkheadError(
    'TooManyBytesSaved', `${limit} would exceed its limit of ${most}. Do less, or raise the limit.`,
    { data: { limit } },
  )
