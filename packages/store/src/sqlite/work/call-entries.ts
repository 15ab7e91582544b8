import type { BegunEffect, CallEntry, CallStart, OpenCall, Started } from '@bulkhead/contract'
import { callOver } from '../../records/stored-record.ts'
import type { CallNotes } from './call-notes.ts'

/** What a call must pass before it starts. */
export interface StartGate {
  /** undefined: it may start. Rejects with StoreUnavailable. */
  refuse(revision: number | undefined): Promise<Started | undefined> | Started | undefined
  /** Throws StoreUnavailable if the seat was lost. */
  requireSeat(): void
  onFault(error: unknown): void
}

/** A call that has not left after this time is written while it waits. */
const WAITING_MS = 10
const STARTED: Promise<Started> = Promise.resolve(Object.freeze({ is: 'started' }))

interface Entry {
  readonly call: OpenCall
  state: 'new' | 'noted' | 'over'
  /** These are set once it is written. */
  number: number
  startedAt: number
  begun: readonly BegunEffect[]
}

/**
 * The open calls of a seat. Calls of one tick are written together. A single call into a compartment is sent first and
 * written in the same turn of the event loop; what it begins is written before that begins. To write it first made a
 * guarded call 15 % slower (p50, process).
 */
export class CallEntries {
  readonly #notes: CallNotes
  readonly #gate: StartGate
  /** Opened since the last save. */
  #unsaved: Entry[] = []
  #isSaving = false

  constructor(notes: CallNotes, gate: StartGate) {
    this.#notes = notes
    this.#gate = gate
  }

  open(call: OpenCall): CallEntry {
    const entry: Entry = { call, state: 'new', number: 0, startedAt: 0, begun: [] }
    this.#unsaved.push(entry)
    if (!this.#isSaving) setTimeout(this.#saveWaiting, WAITING_MS)
    this.#isSaving = true
    return {
      start: (start) => this.#start(entry, start),
      begin: (effect) => this.#begin(entry, effect),
      end: () => this.#end(entry),
    }
  }

  /** Without a wait where the gate needs none: each step of a promise costs every call. */
  #start(entry: Entry, start: CallStart): Promise<Started> {
    try {
      const refused = this.#gate.refuse(start.revision)
      if (refused instanceof Promise) return refused.then((late) => late ?? this.#started(entry, start))
      return refused ? Promise.resolve(refused) : this.#started(entry, start)
    } catch (thrown) {
      return Promise.reject(thrown)
    }
  }

  #started(entry: Entry, { at, isInline, begins }: CallStart): Promise<Started> {
    if (entry.state === 'over') return STARTED
    if (begins) this.#begin(entry, begins, at)
    else if (this.#unsaved.length > 1 || isInline) this.#save(at)
    // The message leaves before that.
    else if (this.#unsaved.length > 0) setImmediate(this.#saveNow)
    return STARTED
  }

  /** Saved in this tick, with no wait for the disk. */
  #begin(entry: Entry, effect: BegunEffect, at = effect.at): undefined {
    if (entry.state === 'over') throw callOver()
    this.#gate.requireSeat()
    const begun = [...entry.begun, effect]
    if (entry.state === 'new') this.#put(entry, at, begun)
    else this.#notes.replace(entry.number, entry.call, entry.startedAt, begun)
    this.#notes.save()
    entry.begun = begun
  }

  /** If an entry is not removed, the next host closes its call again. The call still has its outcome. */
  #end(entry: Entry): void {
    const { state } = entry
    entry.state = 'over'
    if (state !== 'noted') return
    try {
      this.#notes.drop(entry.number)
    } catch (thrown) {
      this.#gate.onFault(thrown)
    }
  }

  #put(entry: Entry, startedAt: number, begun?: readonly BegunEffect[]): void {
    entry.number = this.#notes.put(entry.call, startedAt, begun)
    entry.startedAt = startedAt
    entry.state = 'noted'
  }

  #save(at: number): void {
    const unsaved = this.#unsaved.filter(({ state }) => state === 'new')
    this.#unsaved = []
    if (unsaved.length === 0) return
    try {
      for (const entry of unsaved) this.#put(entry, at)
      this.#notes.save()
    } catch (thrown) {
      this.#gate.onFault(thrown)
    }
  }

  readonly #saveNow = (): void => this.#save(Date.now())

  readonly #saveWaiting = (): void => {
    this.#isSaving = false
    this.#saveNow()
  }
}
