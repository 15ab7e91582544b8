import type {
  CallEntry, Freeze, HostDescription, HostInfo, ListedCall, OpenCall, Seat, SeatListener, ShownKind, Started,
} from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { oncePerTick } from '@bulkhead/kit/once-per-tick'
import { seatLost, storeClosed } from '../../records/stored-record.ts'
import type { CommitQueue } from '../commit-queue.ts'
import type { Notebook } from '../journal-file.ts'
import { isBusy, retryWhileBusy, sqliteError } from '../sqlite-error.ts'
import { CallEntries, type StartGate } from './call-entries.ts'
import { CallNotes } from './call-notes.ts'
import type { Gate, GateState } from './gate.ts'
import { isRowGone, type HostTable } from './host-table.ts'

/** How often a host looks for a freeze. */
const POLL_MS = 250
/** What was seen longer ago is looked at again before a call starts. */
const FRESH_MS = 2 * POLL_MS
const BEAT_MS = 5_000
/** A host that could not write its heartbeat for this long starts nothing until it can. */
export const LEASE_MS = 15_000

export interface SeatSources {
  readonly info: HostInfo
  readonly listener: SeatListener
  readonly notebook: Notebook
  readonly gate: Gate
  readonly table: HostTable
  readonly queue: CommitQueue
  readonly file: string
  /** As it was when the host joined. */
  readonly state: GateState
  readonly takeOver: (host: string, by: string) => Promise<readonly ListedCall[] | undefined>
  readonly discard: (host: string) => Promise<void>
}

/** One host of this process on the file. Its process proves that it lives; its heartbeat, that it answers. */
export class SqliteSeat implements Seat, StartGate {
  readonly id: string
  readonly #sources: SeatSources
  readonly #notes: CallNotes
  readonly #entries: CallEntries
  readonly #timer: NodeJS.Timeout
  #info: Omit<HostInfo, 'id'>
  #number: number
  #revision: number
  #beatAt = performance.now()
  /** The gate as it was seen last. Absent: it could not be read. */
  #seen: GateState | undefined
  #seenAt = performance.now()
  /** What is not written yet, by kind and id. */
  readonly #rows = new Map<string, readonly [ShownKind, string, JsonObject | undefined]>()
  #isDescribed = true
  #isLost = false
  #leaving: Promise<void> | undefined

  constructor(sources: SeatSources) {
    const { info: { id, ...info }, notebook, state } = sources
    this.id = id
    this.#sources = sources
    this.#info = info
    this.#notes = new CallNotes(notebook)
    this.#entries = new CallEntries(this.#notes, this)
    this.#seen = state
    this.#number = state.number
    this.#revision = state.revision
    this.#timer = setInterval(() => this.poll(), POLL_MS).unref()
    if (state.freeze) sources.listener.onGate(state.freeze)
  }

  get hasLeft(): boolean {
    return this.#leaving !== undefined
  }

  open(call: OpenCall): CallEntry {
    return this.#entries.open(call)
  }

  /**
   * A freeze counts when every host has confirmed that it saw it, so what was seen a moment ago is enough. A call that
   * rests on approvals looks again: a revocation holds at once.
   */
  refuse(revision: number | undefined): Promise<Started | undefined> | Started | undefined {
    this.requireSeat()
    const now = performance.now()
    if (now - this.#beatAt > LEASE_MS) return this.#beat().then(() => this.refuse(revision))
    const isFresh = now - this.#seenAt < FRESH_MS && isOpen(this.#seen)
    const fault = this.#journalFault()
    if (revision === undefined && isFresh && fault === undefined) return undefined
    // A lost seat is the better reason: a host that is removed loses its journal first.
    const judge = (state: GateState): Started | undefined => {
      const refused = this.#judge(state, revision)
      if (fault !== undefined) throw sqliteError(fault, this.#sources.file)
      return refused
    }
    try {
      return judge(this.#read())
    } catch (error) {
      if (!isBusy(error)) throw sqliteError(error, this.#sources.file)
      return this.#lookAgain().then(judge)
    }
  }

  requireSeat(): void {
    if (this.#isLost) throw seatLost(this.id)
    if (this.#leaving) throw storeClosed()
  }

  onFault(error: unknown): void {
    this.#sources.listener.onFault(error)
  }

  describe(description: HostDescription): void {
    this.#info = { ...this.#info, ...description }
    this.#isDescribed = false
  }

  show(kind: ShownKind, id: string, row: JsonObject): void {
    this.#rows.set(`${kind} ${id}`, [kind, id, row])
  }

  hide(kind: ShownKind, id: string): void {
    this.#rows.set(`${kind} ${id}`, [kind, id, undefined])
  }

  takeOver(host: string): Promise<readonly ListedCall[] | undefined> {
    return this.#sources.takeOver(host, this.id)
  }

  discard(host: string): Promise<void> {
    return this.#sources.discard(host)
  }

  async settled(): Promise<void> {
    this.#dropUnused()
    await this.#saveRows()
  }

  leave(): Promise<void> {
    this.#leaving ??= this.#leave()
    return this.#leaving
  }

  /** Looks for what others changed. A file that cannot be read is read at the next start. */
  poll(): void {
    if (this.#isLost || this.#leaving) return
    let state: GateState
    try {
      state = this.#read()
    } catch {
      return
    }
    if (!state.isSeated) return this.#lose()
    const { listener } = this.#sources
    if (state.revision !== this.#revision) listener.onRevision()
    this.#revision = state.revision
    const hasChanged = state.number !== this.#number
    if (hasChanged) listener.onGate(state.freeze)
    // After the listener: the next heartbeat confirms what it heard.
    this.#number = state.number
    if (hasChanged || performance.now() - this.#beatAt > BEAT_MS) this.#beat().catch((error) => this.onFault(error))
    if (this.#rows.size > 0 || !this.#isDescribed) void this.#saveRows()
  }

  /** To look for each call took a tenth of the time of a guarded call (64 abreast, process). */
  readonly #requireJournal = oncePerTick(() => this.#sources.notebook.requireFile())

  #journalFault(): unknown {
    try {
      this.#requireJournal()
      return undefined
    } catch (thrown) {
      return thrown
    }
  }

  #judge({ revision: current, freeze, isSeated }: GateState, revision: number | undefined): Started | undefined {
    if (!isSeated) {
      this.#lose()
      throw seatLost(this.id)
    }
    if (freeze) return frozen(freeze)
    return revision === undefined || revision === current ? undefined : CHANGED
  }

  #read(): GateState {
    this.#seen = undefined
    this.#seen = this.#sources.gate.read(this.id)
    this.#seenAt = performance.now()
    return this.#seen
  }

  #lookAgain(): Promise<GateState> {
    return retryWhileBusy(() => this.#read()).catch((error: unknown) => { throw sqliteError(error, this.#sources.file) })
  }

  /** Writes the heartbeat, and looks for hosts that are gone. Rejects with StoreUnavailable. */
  async #beat(): Promise<void> {
    const { queue, table, listener } = this.#sources
    const at = performance.now()
    const seen = this.#number
    const [isSeated, isOneGone] = await queue.enqueue(() => [
      table.beat(this.id, seen, Date.now()),
      table.all().some((row) => row.id !== this.id && isRowGone(row)),
    ], false)
    if (!isSeated) return this.#lose()
    this.#beatAt = at
    if (isOneGone) listener.onGone()
  }

  async #saveRows(): Promise<void> {
    const { queue, table } = this.#sources
    const rows = [...this.#rows.values()]
    const info = this.#isDescribed ? undefined : this.#info
    this.#rows.clear()
    this.#isDescribed = true
    if (rows.length === 0 && !info) return
    await queue.enqueue(() => {
      if (info) table.describe(this.id, info)
      for (const row of rows) table.show(this.id, ...row)
    }, false).catch((error: unknown) => this.onFault(error))
  }

  #dropUnused(): void {
    try {
      this.#notes.dropUnused()
    } catch (thrown) {
      this.onFault(thrown)
    }
  }

  #lose(): void {
    if (this.#isLost || this.#leaving) return
    this.#isLost = true
    clearInterval(this.#timer)
    // A journal without calls would stand for a host that confirms no freeze.
    this.#dropUnused()
    this.#sources.notebook.close()
    this.#sources.listener.onLost()
  }

  async #leave(): Promise<void> {
    clearInterval(this.#timer)
    if (this.#isLost) return
    const { queue, table, notebook } = this.#sources
    try {
      this.#notes.dropUnused()
      const leavesCalls = !notebook.isEmpty
      notebook.close()
      await queue.enqueue(() => leavesCalls ? table.leave(this.id) : table.remove(this.id), false)
    } catch (error) {
      this.onFault(error)
    }
  }
}

const isOpen = (state: GateState | undefined): boolean => state !== undefined && state.isSeated && !state.freeze
const CHANGED: Started = Object.freeze({ is: 'changed' })
const frozen = (freeze: Freeze): Started => ({ is: 'frozen', freeze })
