import type { BegunEffect, CallEntry, CallStart, OpenCall, Started } from '@bulkhead/contract'
import { Batches } from '@bulkhead/kit/batches'
import type { Database, Row } from '../connection/database.ts'
import { freezeIn, gateIn } from './gate.ts'
import { END, GATE, NOTE, SAVE, START, START_ALL } from './work-statements.ts'

/** A call as one statement writes it. */
interface Written {
  readonly number: number
  readonly call: string
  readonly begun: string
  readonly isDurable: boolean
}

/** What became of a start. `unsure`: a host has lost its seat, and it may be this one. */
type Answer = Started | 'unsure'

/** How long a call may wait for its start before it is saved without it. */
const WAITS_MS = 10
/** How long the end of a call may wait for others. */
const END_MS = 10

export interface SeatGuard {
  /** The epoch in which the host was known to have its seat. */
  readonly epoch: number
  /** Throws StoreUnavailable if the seat is lost. Writes the heartbeat first if the last one is too old. */
  requireSeat(): Promise<void> | undefined
  /** Writes the heartbeat, which shows whether the seat stands. */
  beat(): Promise<void>
  onFault(error: unknown): void
}

/** The open calls of one host. */
export class CallEntries {
  readonly #database: Database
  readonly #seat: string
  readonly #guard: SeatGuard
  readonly #starts: Batches<Written & { readonly revision: number | undefined }, Answer>
  readonly #notes: Batches<Written, boolean>
  readonly #waiting = new Set<Entry>()
  #saveTimer: NodeJS.Timeout | undefined
  #ended: number[] = []
  /** Those that the server did not take. */
  #unsent: number[] = []
  #endTimer: NodeJS.Timeout | undefined
  readonly #pending = new Set<Promise<unknown>>()
  #last = 0

  constructor(database: Database, seat: string, guard: SeatGuard) {
    this.#database = database
    this.#seat = seat
    this.#guard = guard
    // Two: while one commits, the next one is on its way.
    this.#starts = new Batches((calls) => this.#sendStarts(calls), { flights: 2 })
    this.#notes = new Batches((calls) => this.#sendNotes(calls), { flights: 2 })
  }

  open(call: OpenCall): CallEntry {
    const entry = new Entry(++this.#last, call, this)
    this.#waiting.add(entry)
    this.#saveTimer ??= setTimeout(() => this.#save(), WAITS_MS).unref()
    return entry
  }

  async start(entry: Entry, revision: number | undefined, isDurable: boolean): Promise<Started> {
    this.#waiting.delete(entry)
    for (;;) {
      await this.#guard.requireSeat()
      const answer = await this.#starts.add({ ...entry.written(isDurable), revision })
      if (answer !== 'unsure') return answer
      await this.#guard.beat()
    }
  }

  async note(entry: Entry): Promise<void> {
    for (;;) {
      await this.#guard.requireSeat()
      if (await this.#notes.add(entry.written(true))) return
      await this.#guard.beat()
    }
  }

  /** `settled`: what may still write the entry. */
  end(entry: Entry, settled: Promise<unknown>): void {
    this.#waiting.delete(entry)
    if (!entry.mayBeStored) return
    this.#track(settled.then(() => {
      this.#ended.push(entry.number)
      this.#endTimer ??= setTimeout(() => this.#track(this.#sendEnds()), END_MS).unref()
    }))
  }

  /** The server answers again: what has ended meanwhile is no open call. */
  endAgain(): void {
    if (this.#unsent.length === 0) return
    this.#ended.push(...this.#unsent.splice(0))
    this.#track(this.#sendEnds())
  }

  /** Resolves when everything so far is written or lost. */
  async settled(): Promise<void> {
    this.#save()
    this.endAgain()
    while (this.#pending.size > 0 || this.#ended.length > 0) {
      await Promise.allSettled(this.#pending)
      await this.#sendEnds()
    }
  }

  #track(work: Promise<unknown>): void {
    const tracked = work.catch((error: unknown) => this.#guard.onFault(error)).finally(() => this.#pending.delete(tracked))
    this.#pending.add(tracked)
  }

  /** Calls that wait for a person, or for their turn. */
  #save(): void {
    clearTimeout(this.#saveTimer)
    this.#saveTimer = undefined
    const entries = [...this.#waiting]
    this.#waiting.clear()
    if (entries.length === 0) return
    const saved = this.#database.query(SAVE, [this.#seat, ...columnsOf(entries.map((entry) => entry.written(false)))])
    for (const entry of entries) entry.isSaved(saved)
    this.#track(saved)
  }

  async #sendEnds(): Promise<void> {
    clearTimeout(this.#endTimer)
    this.#endTimer = undefined
    const numbers = this.#ended.splice(0)
    if (numbers.length === 0) return
    try {
      await this.#database.query(END, [this.#seat, numbers])
    } catch (error) {
      this.#unsent.push(...numbers)
      this.#guard.onFault(error)
    }
  }

  async #sendStarts(calls: readonly (Written & { readonly revision: number | undefined })[]): Promise<readonly Answer[]> {
    const isDurable = calls.some((call) => call.isDurable)
    const head = [this.#seat, isDurable, this.#guard.epoch] as const
    const [one, ...more] = calls
    if (one && more.length === 0) {
      const rows = await this.#database.query(START, [...head, one.number, one.call, one.begun, one.revision ?? null])
      return [rows.length > 0 ? STARTED : await this.#refusal()]
    }
    const [row] = await this.#database.query(
      START_ALL, [...head, ...columnsOf(calls), calls.map(({ revision }) => revision ?? null)])
    return answersIn(row!, calls)
  }

  /** Why a call was not started, as far as the gate still shows it. Otherwise it is decided again, and starts then. */
  async #refusal(): Promise<Answer> {
    const { epoch, freeze } = gateIn((await this.#database.query(GATE))[0]!)
    if (epoch !== this.#guard.epoch) return 'unsure'
    return freeze ? { is: 'frozen', freeze } : CHANGED
  }

  async #sendNotes(calls: readonly Written[]): Promise<readonly boolean[]> {
    const [row] = await this.#database.query(NOTE, [this.#seat, true, this.#guard.epoch, ...columnsOf(calls)])
    return calls.map(() => row!['held'] === true)
  }
}

function answersIn(row: Row, calls: readonly Written[]): readonly Answer[] {
  if (row['held'] !== true) return calls.map(() => 'unsure')
  const freeze = freezeIn(row['frozen'])
  if (freeze) return calls.map(() => ({ is: 'frozen', freeze }))
  const started = new Set(row['started'] as readonly string[])
  return calls.map(({ number }) => started.has(String(number)) ? STARTED : CHANGED)
}

const STARTED: Started = Object.freeze({ is: 'started' })
const CHANGED: Started = Object.freeze({ is: 'changed' })

const columnsOf = (calls: readonly Written[]) =>
  [calls.map(({ number }) => number), calls.map(({ call }) => call), calls.map(({ begun }) => begun)] as const

class Entry implements CallEntry {
  readonly number: number
  readonly #call: OpenCall
  readonly #entries: CallEntries
  #startedAt = Date.now()
  #hasStarted = false
  #begun: readonly BegunEffect[] = []
  /** What may still write the entry, so that its end comes last. */
  #writing: Promise<unknown> | undefined
  #isOver = false

  constructor(number: number, call: OpenCall, entries: CallEntries) {
    this.number = number
    this.#call = call
    this.#entries = entries
  }

  get mayBeStored(): boolean {
    return this.#writing !== undefined
  }

  async start({ at, revision, begins }: CallStart): Promise<Started> {
    if (!this.#hasStarted) this.#startedAt = at
    this.#hasStarted = true
    const before = this.#begun
    if (begins) this.#begun = [...before, begins]
    const started = await this.#write(this.#entries.start(this, revision, begins !== undefined))
    // What did not start has not begun.
    if (begins && started.is !== 'started') this.#begun = this.#begun.filter((one) => one !== begins)
    return started
  }

  begin(effect: BegunEffect): Promise<void> {
    this.#begun = [...this.#begun, effect]
    return this.#write(this.#entries.note(this))
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#entries.end(this, this.#writing ?? Promise.resolve())
  }

  isSaved(saved: Promise<unknown>): void {
    void this.#write(saved).catch(() => undefined)
  }

  written(isDurable: boolean): Written {
    const { terms, callId, outcomeAt } = this.#call
    const call = { ...terms, callId, startedAt: this.#startedAt, ...(outcomeAt !== undefined && { outcomeAt }) }
    return { number: this.number, call: JSON.stringify(call), begun: JSON.stringify(this.#begun), isDurable }
  }

  #write<T>(work: Promise<T>): Promise<T> {
    const settled = work.then(() => undefined, () => undefined)
    this.#writing = Promise.all([this.#writing, settled])
    return work
  }
}
