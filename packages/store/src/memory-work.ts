import type {
  BegunEffect, CallEntry, CallStart, Freeze, FreezeReport,
  HostDescription, HostInfo, JoinedHost, OpenCall, Seat, SeatListener, ShownKind,
  ShownRow, Started, Work,
} from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { callOver, seatLost, storeClosed, storeError } from './records/stored-record.ts'

/** The hosts of one process on a store in memory. What they leave is forgotten. */
export class MemoryWork implements Work {
  readonly seats = new Map<string, MemorySeat>()
  #revision = 0
  #freeze: Freeze | undefined
  #isClosed = false

  async join(info: HostInfo, listener: SeatListener): Promise<Seat> {
    this.mustBeOpen()
    if (this.seats.has(info.id)) throw storeError('refused-value', `Another host has the id "${info.id}". Use a new one.`)
    const seat = new MemorySeat(info, listener, this)
    this.seats.set(info.id, seat)
    if (this.#freeze) listener.onGate(this.#freeze)
    return seat
  }

  async hosts(): Promise<readonly JoinedHost[]> {
    this.mustBeOpen()
    return [...this.seats.values()].map((seat) => seat.view(this.#freeze !== undefined))
  }

  async isGone(host: string): Promise<boolean> {
    this.mustBeOpen()
    return !this.seats.has(host)
  }

  async revision(): Promise<number> {
    this.mustBeOpen()
    return this.#revision
  }

  async frozen(): Promise<Freeze | undefined> {
    this.mustBeOpen()
    return this.#freeze
  }

  async freeze(order: Omit<Freeze, 'since'>): Promise<FreezeReport> {
    this.mustBeOpen()
    const freeze: Freeze = { since: Date.now(), ...order }
    this.#set(freeze)
    return { freeze, unconfirmed: [] }
  }

  async thaw(): Promise<Freeze | undefined> {
    this.mustBeOpen()
    const thawed = this.#freeze
    if (thawed) this.#set(undefined)
    return thawed
  }

  /** An approval was written or removed. */
  changed(): void {
    this.#revision++
    for (const { listener } of this.seats.values()) listener.onRevision()
  }

  close(): void {
    this.#isClosed = true
    this.seats.clear()
  }

  /** What refuses the start of a call. */
  refusal(revision: number | undefined): Started | undefined {
    if (this.#freeze) return { is: 'frozen', freeze: this.#freeze }
    return revision === undefined || revision === this.#revision ? undefined : { is: 'changed' }
  }

  mustBeOpen(): void {
    if (this.#isClosed) throw storeClosed()
  }

  #set(freeze: Freeze | undefined): void {
    this.#freeze = freeze
    for (const { listener } of this.seats.values()) listener.onGate(freeze)
  }
}

interface Kept {
  readonly call: OpenCall
  startedAt: number
  begun: readonly BegunEffect[]
  isOver: boolean
}

class MemorySeat implements Seat {
  readonly id: string
  readonly listener: SeatListener
  readonly #work: MemoryWork
  readonly #since = Date.now()
  readonly #calls = new Set<Kept>()
  readonly #rows: Readonly<Record<ShownKind, Map<string, JsonObject>>> = { session: new Map(), question: new Map() }
  #info: HostInfo

  constructor(info: HostInfo, listener: SeatListener, work: MemoryWork) {
    this.id = info.id
    this.listener = listener
    this.#info = info
    this.#work = work
  }

  open(call: OpenCall): CallEntry {
    const kept: Kept = { call, startedAt: 0, begun: [], isOver: false }
    return {
      start: async ({ at, revision, begins }: CallStart) => {
        this.#requireSeat()
        const refused = this.#work.refusal(revision)
        if (refused) return refused
        if (kept.startedAt === 0) kept.startedAt = at
        if (begins) kept.begun = [...kept.begun, begins]
        if (!kept.isOver) this.#calls.add(kept)
        return { is: 'started' }
      },
      begin: (effect) => {
        this.#requireSeat()
        if (kept.isOver) throw callOver()
        kept.begun = [...kept.begun, effect]
        return undefined
      },
      end: () => {
        kept.isOver = true
        this.#calls.delete(kept)
      },
    }
  }

  describe(description: HostDescription): void {
    this.#info = { ...this.#info, ...description }
  }

  show(kind: ShownKind, id: string, row: JsonObject): void {
    this.#rows[kind].set(id, row)
  }

  hide(kind: ShownKind, id: string): void {
    this.#rows[kind].delete(id)
  }

  async takeOver(): Promise<undefined> {
    this.#work.mustBeOpen()
    return undefined
  }

  async discard(host: string): Promise<void> {
    this.#work.mustBeOpen()
    this.#work.seats.delete(host)
  }

  async settled(): Promise<void> {}

  async leave(): Promise<void> {
    if (this.#work.seats.get(this.id) === this) this.#work.seats.delete(this.id)
  }

  view(isFrozen: boolean): JoinedHost {
    const rows = (kind: ShownKind): readonly ShownRow[] => [...this.#rows[kind]].map(([id, row]) => ({ id, row }))
    return {
      ...this.#info, state: 'live', since: this.#since, silentMs: 0, isFrozen, sessions: rows('session'),
      questions: rows('question'),
      calls: [...this.#calls].map(({ call: { terms, ...call }, startedAt, begun }) =>
        ({ ...terms, ...call, startedAt, begun })),
    }
  }

  #requireSeat(): void {
    this.#work.mustBeOpen()
    if (this.#work.seats.get(this.id) !== this) throw seatLost(this.id)
  }
}
