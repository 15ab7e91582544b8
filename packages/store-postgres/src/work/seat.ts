import type {
  CallEntry, HostDescription, HostInfo, ListedCall, OpenCall, Seat, SeatListener, ShownKind,
} from '@bulkhead/contract'
import { readListedCall } from '@bulkhead/contract'
import { isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { seatLost, storeClosed } from '@bulkhead/store/records'
import type { Database } from '../connection/database.ts'
import { CallEntries, type SeatGuard } from './call-entries.ts'
import { gateIn, type GateState } from './gate.ts'
import { BEAT, CALLS_OF, CLAIM, DESCRIBE, DISCARD, GATE, LEAVE, SHOW } from './work-statements.ts'

/** How long what a host shows may wait for more of it. */
const SHOW_MS = 25

export interface SeatSources {
  readonly database: Database
  readonly info: HostInfo
  readonly listener: SeatListener
  /** As it was when the host joined. */
  readonly state: GateState
  /** It has left, or was lost. */
  readonly onLeft: () => void
}

/** One host of this process. Its heartbeat, by the clock of the server, proves that it lives. */
export class PostgresSeat implements Seat, SeatGuard {
  readonly id: string
  readonly #database: Database
  readonly #listener: SeatListener
  readonly #onLeft: () => void
  readonly #entries: CallEntries
  readonly #timer: NodeJS.Timeout
  #info: HostInfo
  #number: number
  #revision: number
  #epoch: number
  /** When the last heartbeat was sent that the server has. */
  #beatAt = performance.now()
  /** When heartbeats began to succeed. undefined while they fail. */
  #calmSince: number | undefined = performance.now()
  #beating: Promise<void> | undefined
  #looking: Promise<void> | undefined
  /** What is not written yet, by kind and id. */
  readonly #rows = new Map<string, readonly [ShownKind, string, string | null]>()
  #isDescribed = true
  #rowTimer: NodeJS.Timeout | undefined
  #saving: Promise<void> = Promise.resolve()
  #isLost = false
  #leaving: Promise<void> | undefined

  constructor({ database, info, listener, state, onLeft }: SeatSources) {
    this.id = info.id
    this.#info = info
    this.#database = database
    this.#listener = listener
    this.#onLeft = onLeft
    this.#entries = new CallEntries(database, info.id, this)
    this.#number = state.number
    this.#revision = state.revision
    this.#epoch = state.epoch
    this.#timer = setInterval(() => {
      // A fault is that of the server, which the next use reports.
      this.beat().catch(() => undefined)
    }, database.times.beatMs).unref()
    if (state.freeze) listener.onGate(state.freeze)
  }

  /** Whether the silence of another host counts: the server and the network worked for long enough. */
  get canJudge(): boolean {
    return this.#calmSince !== undefined && performance.now() - this.#calmSince > this.#database.times.calmMs
  }

  open(call: OpenCall): CallEntry {
    return this.#entries.open(call)
  }

  describe(description: HostDescription): void {
    this.#info = { ...this.#info, ...description }
    this.#isDescribed = false
    this.#planRows()
  }

  show(kind: ShownKind, id: string, row: JsonObject): void {
    this.#rows.set(`${kind} ${id}`, [kind, id, JSON.stringify(row)])
    this.#planRows()
  }

  hide(kind: ShownKind, id: string): void {
    this.#rows.set(`${kind} ${id}`, [kind, id, null])
    this.#planRows()
  }

  async takeOver(host: string): Promise<readonly ListedCall[] | undefined> {
    const claimed = await this.#database.query(CLAIM, [host, this.id, this.canJudge])
    // In a statement of its own: the claim has waited for starts that were under way, and this one sees them.
    return claimed.length === 0 ? undefined
      : (await this.#database.query(CALLS_OF, [host])).flatMap((row) => listedCall(row['call'], row['begun']))
  }

  async discard(host: string): Promise<void> {
    await this.#database.query(DISCARD, [host])
  }

  async settled(): Promise<void> {
    await Promise.all([this.#entries.settled(), this.#saveRows()])
  }

  leave(): Promise<void> {
    this.#leaving ??= this.#leave().finally(this.#onLeft)
    return this.#leaving
  }

  get epoch(): number {
    return this.#epoch
  }

  requireSeat(): Promise<void> | undefined {
    if (this.#isLost) throw seatLost(this.id)
    if (this.#leaving) throw storeClosed()
    if (performance.now() - this.#beatAt <= this.#database.times.goneMs) return undefined
    return this.beat().then(() => this.requireSeat())
  }

  onFault(error: unknown): void {
    this.#listener.onFault(error)
  }

  #lose(): void {
    if (this.#isLost || this.#leaving) return
    this.#isLost = true
    clearInterval(this.#timer)
    this.#onLeft()
    this.#listener.onLost()
  }

  /** Renews the heartbeat, and hears what others changed. */
  beat(): Promise<void> {
    this.#beating ??= this.#beat().finally(() => { this.#beating = undefined })
    return this.#beating
  }

  /** Hears what others changed. Called for a notification. */
  look(): void {
    if (this.#isLost || this.#leaving) return
    // A notification during a look may be about what that look did not see.
    const look = async (): Promise<void> => {
      const [row] = await this.#database.query(GATE)
      this.#hear(gateIn(row!))
    }
    this.#looking = (this.#looking ?? Promise.resolve()).then(look).catch(() => undefined)
  }

  async #beat(): Promise<void> {
    if (this.#isLost || this.#leaving) return
    const at = performance.now()
    try {
      const [row] = await this.#database.query(BEAT, [this.id])
      this.#calmSince ??= performance.now()
      if (row!['held'] !== true) return this.#lose()
      this.#beatAt = at
      this.#entries.endAgain()
      this.#epoch = Number(row!['epoch'])
      this.#hear(gateIn(row!))
      if (row!['gone'] === true && this.canJudge) this.#listener.onGone()
    } catch (error) {
      this.#calmSince = undefined
      throw error
    }
  }

  #hear({ revision, number, freeze }: GateState): void {
    if (this.#isLost || this.#leaving) return
    const [isNewRevision, isNewNumber] = [revision !== this.#revision, number > this.#number]
    this.#revision = revision
    if (isNewRevision) this.#listener.onRevision()
    if (!isNewNumber) return
    this.#number = number
    this.#listener.onGate(freeze)
  }

  #planRows(): void {
    this.#rowTimer ??= setTimeout(() => void this.#saveRows(), SHOW_MS).unref()
  }

  /** One after the other, so that the last row wins. */
  #saveRows(): Promise<void> {
    clearTimeout(this.#rowTimer)
    this.#rowTimer = undefined
    this.#saving = this.#saving.then(() => this.#sendRows()).catch((error: unknown) => this.onFault(error))
    return this.#saving
  }

  async #sendRows(): Promise<void> {
    const rows = [...this.#rows.values()]
    this.#rows.clear()
    if (!this.#isDescribed) {
      this.#isDescribed = true
      await this.#database.query(DESCRIBE, [this.id, JSON.stringify(this.#info)])
    }
    if (rows.length === 0) return
    const columns = [0, 1, 2].map((column) => rows.map((row) => row[column]!))
    await this.#database.query(SHOW, [this.id, ...columns])
  }

  async #leave(): Promise<void> {
    clearInterval(this.#timer)
    if (this.#isLost) return
    await this.settled()
    await this.#database.query(LEAVE, [this.id]).catch((error: unknown) => this.onFault(error))
  }
}

/** None for a row of an unknown form. */
export function listedCall(call: unknown, begun: unknown): readonly ListedCall[] {
  const found = readListedCall({ ...objectIn(call), begun: listIn(begun) })
  return found ? [found] : []
}

/** Empty for text that is no object. */
export function objectIn(text: unknown): JsonObject {
  const parsed = parseJson(String(text))
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
}

/** What cannot be read counts as begun. */
function listIn(text: unknown): readonly Json[] {
  const parsed = parseJson(String(text))
  return parsed.ok && Array.isArray(parsed.value) ? parsed.value as readonly Json[] : [null]
}
