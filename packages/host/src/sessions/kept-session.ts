import type { BulkheadError } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { EventBus } from '../records/events.ts'
import type { SessionKeeper } from '../model/session-keeper.ts'
import type { SessionScope } from '../policy/call-session.ts'
import {
  activeElsewhere, type OpenedWith, type SessionProgress, type SessionRecord, type SessionRecords,
} from '../records/session-records.ts'
import type { SessionOptions } from './session.ts'

/** A session that this host has claimed. */
export interface Resumed {
  readonly record: SessionRecord
  /** The ids of its calls, oldest first. */
  readonly ids: readonly string[]
}

/** What a session tells about itself. */
export interface KeepRequest {
  readonly id: string
  readonly options: SessionOptions
  /** Its present state. */
  readonly scope: () => Pick<SessionScope, 'memory' | 'approvals'>
  readonly turns: () => number
  /** Set if it is resumed. */
  readonly before: Resumed | undefined
  /** Another host has the session now. */
  readonly onLost: (reason: BulkheadError) => void
}

export interface KeptSessionSources extends Omit<KeepRequest, 'options'> {
  readonly records: SessionRecords
  readonly opened: OpenedWith
  readonly events: EventBus
}

/** How much of a session a crash can lose, besides what is saved at once. */
const SAVE_MS = 1_000
const SAVING = 'keeping a session'

/** Writes what a session needs to continue in another host: when it changed, in batches, and never for a call. */
export class KeptSession implements SessionKeeper {
  readonly #sources: KeptSessionSources
  /** Ids of calls that are not in the store. */
  #ids: string[] = []
  #savedIds: number
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined
  /** Whether something happened in it. */
  #isUsed: boolean
  #isStored: boolean
  #isOver = false

  constructor(sources: KeptSessionSources) {
    this.#sources = sources
    this.#savedIds = sources.before?.ids.length ?? 0
    this.#isUsed = this.#isStored = sources.before !== undefined
  }

  /** The session is open. */
  begin(): void {
    this.#saveSoon()
  }

  changed(when?: 'now'): void {
    this.#isUsed = true
    if (when === 'now') this.#saveAlone()
    else if (this.#timer === undefined && !this.#isOver) this.#saveSoon()
  }

  /** A call of the model took this id. */
  took(id: string): void {
    this.#ids.push(id)
    this.changed()
  }

  /** Resolves when the store has everything so far. Rejects with StoreUnavailable. */
  save(): Promise<void> {
    this.#isUsed = true
    return this.#save()
  }

  /** The session is over. Never rejects. */
  remove(): Promise<void> {
    return this.#end(async () => {
      if (this.#isStored) await this.#sources.records.remove(this.#sources.id)
    })
  }

  /** Its host ends, and another one may continue it. A session in which nothing happened is removed. Never rejects. */
  async release(): Promise<void> {
    if (!this.#isUsed) return this.remove()
    const saved = this.#save()
    return this.#end(async () => {
      await saved
      await this.#sources.records.release(this.#sources.id)
    })
  }

  #saveSoon(): void {
    // A wait of the clock would keep the process alive.
    this.#timer = setTimeout(() => this.#saveAlone(), SAVE_MS).unref()
  }

  /** Nothing waits for it. */
  #saveAlone(): void {
    this.#save().catch((thrown: unknown) => this.#sources.events.suppressed(SAVING, thrown))
  }

  /** Saves that are asked for while one is under way become one. */
  #save(): Promise<void> {
    if (this.#isOver) return Promise.resolve()
    this.#next ??= this.#writing.catch(() => undefined).then(() => {
      this.#next = undefined
      this.#writing = this.#write()
      return this.#writing
    })
    return this.#next
  }

  async #write(): Promise<void> {
    const { id, records, opened, onLost } = this.#sources
    clearTimeout(this.#timer)
    this.#timer = undefined
    const ids = this.#ids
    this.#ids = []
    try {
      this.#isStored = true
      if (!await records.save(id, opened, this.#progress())) return onLost(activeElsewhere(id))
      await records.addIds(id, ids, this.#savedIds)
      this.#savedIds += ids.length
    } catch (thrown) {
      this.#ids = [...ids, ...this.#ids]
      throw thrown
    }
  }

  #progress(): SessionProgress {
    const { scope, turns, before } = this.#sources
    const { memory, approvals } = scope()
    return {
      turns: turns(), resumed: before?.record.resumed ?? 0, memory: Object.fromEntries(memory),
      approvals: approvals.stored() as unknown as readonly Json[],
    }
  }

  async #end(last: () => Promise<void>): Promise<void> {
    const { events } = this.#sources
    this.#isOver = true
    clearTimeout(this.#timer)
    await this.#writing.catch(() => undefined)
    await last().catch((thrown: unknown) => events.suppressed(SAVING, thrown))
  }
}
