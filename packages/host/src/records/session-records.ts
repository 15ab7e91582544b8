import { hash } from 'node:crypto'
import { BulkheadError, type Store } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { Claimant } from './owner.ts'

/** What a session was opened with, as far as it is data. Fixed. */
export interface OpenedWith {
  readonly principal?: string
  readonly openedAt: string
  /** Options of `openSession`. */
  readonly options: JsonObject
  /** Options that were code. Those that restrict must be passed again. */
  readonly code: readonly string[]
}

/** What changes while a session is open. */
export interface SessionProgress {
  readonly turns: number
  /** How often it was resumed. */
  readonly resumed: number
  /** What extensions keep for it, by layer and id. */
  readonly memory: JsonObject
  readonly approvals: readonly Json[]
}

export interface SessionRecord extends OpenedWith, SessionProgress {
  readonly id: string
  readonly savedAt: number
  /** The host that has it open. Absent: none. */
  readonly owner?: string
}

export interface SessionRecordSources {
  readonly store: Store
  readonly workspace: string
  readonly owner: Claimant
  readonly now: () => number
  /** How long a session can be resumed after its host ended. */
  readonly keptMs: number
}

/** Ids of calls in one record: a batch writes one record of this size, and not all ids of the session. */
const IDS_PER_RECORD = 500
const PURGE_MS = 60 * 60 * 1000

/**
 * Sessions of one workspace in the store, so that another host can continue them. The host that has one open is written
 * into its record. Every method rejects with StoreUnavailable.
 */
export class SessionRecords {
  readonly #sources: SessionRecordSources
  readonly #prefix: string
  #purgedAt = -Infinity

  constructor(sources: SessionRecordSources) {
    this.#sources = sources
    this.#prefix = `${hash('sha256', sources.workspace)}/`
  }

  /** Resolves with false if another host has the session now: then nothing is written. */
  async save(id: string, opened: OpenedWith, progress: SessionProgress): Promise<boolean> {
    const { owner, now } = this.#sources
    const record = { ...opened, ...progress, id, savedAt: now(), owner: owner.id } as unknown as JsonObject
    const stored = await this.#update(id, (before) => isOf(before, owner) ? record : before)
    // It may have joined again under another id meanwhile.
    return owner.isOwn(ownerOf(stored))
  }

  /** Adds ids of calls. `before`: how many there are already. */
  async addIds(id: string, ids: readonly string[], before: number): Promise<void> {
    for (let from = 0; from < ids.length;) {
      const number = before + from
      const some = ids.slice(from, from + IDS_PER_RECORD - number % IDS_PER_RECORD)
      await this.#sources.store.update('session', this.#idsKey(id, Math.floor(number / IDS_PER_RECORD)), (stored) =>
        [...texts(stored).slice(0, number % IDS_PER_RECORD), ...some])
      from += some.length
    }
  }

  /** The ids of its calls, oldest first. */
  async ids(id: string): Promise<readonly string[]> {
    const records = await this.#sources.store.list('session', this.#idsPrefix(id))
    return records.flatMap(({ value }) => texts(value))
  }

  /**
   * Makes this host the one that has the session. Of several hosts, one gets it. Rejects with NotFound, also for a
   * session of another principal, or SessionActiveElsewhere; then nothing has changed.
   */
  async claim(id: string, principal: string | undefined): Promise<SessionRecord> {
    const { owner, now, keptMs } = this.#sources
    const before = readRecord(await this.#sources.store.read('session', this.#key(id)))
    const isFree = before !== undefined && await this.#isFree(before)
    const claimed = await this.#update(id, (stored) => {
      const record = readRecord(stored)
      if (!record || record.principal !== principal || now() - record.savedAt > keptMs) throw unknownSession(id)
      if (record.owner !== undefined && !(isFree && record.owner === before.owner)) throw activeElsewhere(id)
      return { ...stored as JsonObject, owner: owner.id, savedAt: now(), resumed: record.resumed + 1 }
    })
    return readRecord(claimed)!
  }

  /** The host ends, and the session can be resumed. */
  async release(id: string): Promise<void> {
    const { owner, now } = this.#sources
    await this.#update(id, (stored) => {
      const { owner: by, ...free } = isJsonObject(stored) ? stored : {} as JsonObject
      return owner.isOwn(by) ? { ...free, savedAt: now() } : stored
    })
  }

  /** The session is over. One that another host has is left alone. */
  async remove(id: string): Promise<void> {
    const { owner, store } = this.#sources
    const left = await this.#update(id, (stored) => isOf(stored, owner) ? undefined : stored)
    if (left !== undefined) return
    for (const { key } of await store.list('session', this.#idsPrefix(id))) await store.remove('session', key)
  }

  /** Whether a session is open in a host that lives, or can be resumed. */
  async isKept(id: string): Promise<boolean> {
    const record = readRecord(await this.#sources.store.read('session', this.#key(id)))
    return record !== undefined && !await this.#isOver(record)
  }

  /** Removes those that can no longer be resumed, then calls `more`. Never rejects: what fails is done later. */
  async purge(more: () => Promise<void> = async () => undefined): Promise<void> {
    const { store, now } = this.#sources
    if (now() - this.#purgedAt < PURGE_MS) return
    this.#purgedAt = now()
    try {
      for (const { key, value } of await store.list('session', `${this.#prefix}open/`)) {
        const record = readRecord(value)
        if (record && !await this.#isOver(record)) continue
        const id = key.slice(key.lastIndexOf('/') + 1)
        // Another host may resume it meanwhile.
        const left = await this.#update(id, (stored) => {
          const again = readRecord(stored)
          return again?.owner === record?.owner && again?.savedAt === record?.savedAt ? undefined : stored
        })
        if (left !== undefined) continue
        for (const ids of await store.list('session', this.#idsPrefix(id))) await store.remove('session', ids.key)
      }
      await more()
    } catch {
      // A store that is slow or gone is not asked for each session.
    }
  }

  async #isFree({ owner }: SessionRecord): Promise<boolean> {
    return owner === undefined || await this.#sources.owner.isGone(owner)
  }

  async #isOver(record: SessionRecord): Promise<boolean> {
    const { now, keptMs } = this.#sources
    return now() - record.savedAt > keptMs && await this.#isFree(record)
  }

  #update(id: string, change: (stored: Json | undefined) => Json | undefined): Promise<Json | undefined> {
    return this.#sources.store.update('session', this.#key(id), change)
  }

  #key(id: string): string {
    return `${this.#prefix}open/${id}`
  }

  #idsPrefix(id: string): string {
    return `${this.#prefix}ids/${id}/`
  }

  /** In the order of their numbers. */
  #idsKey(id: string, number: number): string {
    return `${this.#idsPrefix(id)}${String(number).padStart(6, '0')}`
  }
}

const ownerOf = (stored: Json | undefined): Json | undefined => isJsonObject(stored) ? stored['owner'] : undefined
/** A record that is not there yet is for the host that opened the session. */
const isOf = (stored: Json | undefined, owner: Claimant): boolean =>
  stored === undefined || owner.isOwn(ownerOf(stored))

const texts = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter((one) => typeof one === 'string') : []

/** undefined for a record of an unknown form. */
function readRecord(value: Json | undefined): SessionRecord | undefined {
  if (!isJsonObject(value)) return undefined
  const { id, savedAt, openedAt, options, code, turns, resumed, memory, approvals } = value
  const isRecord = typeof id === 'string' && typeof savedAt === 'number' && typeof openedAt === 'string'
    && isJsonObject(options) && isJsonObject(memory) && Array.isArray(code) && Array.isArray(approvals)
    && typeof turns === 'number' && typeof resumed === 'number'
  return isRecord ? value as unknown as SessionRecord : undefined
}

const unknownSession = (id: string): BulkheadError =>
  new BulkheadError('NotFound', `No session with the id ${id} can be resumed.`, { data: { id } })

export const activeElsewhere = (id: string): BulkheadError => new BulkheadError(
  'SessionActiveElsewhere', `The session ${id} is open in another host, which runs or died within the last 15 seconds.`, { data: { id } },
)
