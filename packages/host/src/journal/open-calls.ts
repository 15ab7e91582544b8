import {
  BulkheadError, isJsonObject, type Clock, type ErrorOutcome, type Json, type JsonObject, type Notes, type OutcomeOrigin, type Store,
} from '@bulkhead/contract'
import type { ResolvedCall } from '../call.ts'
import type { EventBus } from '../events.ts'
import { errorBody } from '../calls/outcome.ts'
import { callsIn, CallNotes } from './call-notes.ts'
import { PendingWrites } from './pending-writes.ts'

/** Which process of those that share a store wrote a record. */
export interface Owner {
  /** Without `/`. */
  readonly id: string
  /** Whether whoever had this id has ended. */
  isGone(id: string): boolean
}

/** A call that was open when its host ended. */
export interface InterruptedCall {
  readonly sessionId: string
  readonly startedAt: string
  readonly outcome: ErrorOutcome
}

/** One call in the journal. */
export interface JournalEntry {
  /** Settles when the store has it, or has failed to; never rejects. Absent where it is a note, which is saved within the moment. */
  readonly written?: Promise<void>
  /** Idempotent. */
  close(): void
}

/** A call that is noted within its moment, unless it is over by then. */
interface Note extends JournalEntry {
  readonly call: ResolvedCall
  state: 'new' | 'noted' | 'over'
  /** Once it is noted. */
  number: number
}

export interface JournalSources {
  readonly store: Store
  readonly owner: Owner
  readonly events: EventBus
  readonly clock: Clock
}

const JOURNAL = 'journal of calls'

/**
 * Calls from before they run until they have settled, so that those a crash leaves open can be closed by the next host. A
 * store that fails costs the entry, never the call.
 */
export class OpenCalls {
  readonly #sources: JournalSources
  readonly #owner: Owner
  readonly #writes: PendingWrites
  /** Opened in this moment. */
  #unsaved: Note[] = []
  #notes: CallNotes | undefined
  #isSaving = false
  #count = 0
  #recovering: Promise<readonly InterruptedCall[]> | undefined

  constructor(sources: JournalSources) {
    this.#sources = sources
    this.#owner = sources.owner
    this.#writes = new PendingWrites(JOURNAL, sources.events)
  }

  /** undefined where nothing outlives the process. */
  open(call: ResolvedCall): JournalEntry | undefined {
    const { store } = this.#sources
    if (store.forgets) return undefined
    return store.notes ? this.#note(call) : this.#write(call)
  }

  /** Whether there may be calls that the next process would not know of. */
  get isAhead(): boolean {
    return this.#unsaved.length > 0
  }

  /** When this returns, calls that are open are known to whoever comes after this process. */
  save(): void {
    const unsaved = this.#unsaved
    if (unsaved.length === 0) return
    this.#unsaved = []
    try {
      const { store, clock } = this.#sources
      const notes = this.#notes ??= new CallNotes(store.notes!.open(this.#owner.id))
      const startedAt = clock.now()
      for (const note of unsaved) {
        if (note.state === 'over') continue
        note.number = notes.put(note.call, startedAt)
        note.state = 'noted'
      }
      notes.save()
    } catch (thrown) {
      this.#sources.events.suppressed(JOURNAL, thrown)
    }
  }

  /** At the end of this moment: for calls that are on their way already, and those that wait for somebody before they leave. */
  saveSoon(): void {
    if (this.#isSaving || !this.isAhead) return
    this.#isSaving = true
    queueMicrotask(this.#saveNow)
  }

  readonly #saveNow = (): void => {
    this.#isSaving = false
    this.save()
  }

  #note(call: ResolvedCall): Note {
    const note: Note = { call, state: 'new', number: 0, close: () => this.#drop(note) }
    this.#unsaved.push(note)
    return note
  }

  /** A note that stays is a call that the next host closes, not one that has no outcome. */
  #drop(note: Note): void {
    const { state } = note
    note.state = 'over'
    // One that was refused at once.
    if (this.#unsaved.at(-1) === note) this.#unsaved.pop()
    if (state !== 'noted') return
    try {
      this.#notes!.drop(note.number)
    } catch (thrown) {
      this.#sources.events.suppressed(JOURNAL, thrown)
    }
  }

  #write({ session, id, name, tool }: ResolvedCall): JournalEntry {
    const { store, clock } = this.#sources
    const key = `${this.#owner.id}/${++this.#count}`
    const record = { sessionId: session.id, callId: id, tool: name, origin: { ...tool.origin }, startedAt: clock.now() }
    let open = true
    return {
      written: this.#writes.add(store.write('call', key, record)),
      close: () => {
        if (open) void this.#writes.add(store.remove('call', key))
        open = false
      },
    }
  }

  /** Closes what hosts that have ended left open, once. Resolves with it; never rejects. */
  recover(): Promise<readonly InterruptedCall[]> {
    this.#recovering ??= this.#recover().catch((thrown: unknown) => {
      this.#recovering = undefined
      this.#sources.events.suppressed('closing interrupted calls', thrown)
      return []
    })
    return this.#recovering
  }

  /** Resolves when everything asked of the store is done, and nothing is noted any more but what is open. */
  settled(): Promise<void> {
    try {
      this.#notes?.dropUnused()
    } catch (thrown) {
      this.#sources.events.suppressed(JOURNAL, thrown)
    }
    return this.#writes.settled()
  }

  async #recover(): Promise<readonly InterruptedCall[]> {
    const { store } = this.#sources
    if (store.forgets) return []
    return [...await this.#recoverNotes(store.notes), ...await this.#recoverRecords(store)]
  }

  async #recoverNotes(notes: Notes | undefined): Promise<readonly InterruptedCall[]> {
    const interrupted: InterruptedCall[] = []
    for (const owner of await notes?.owners() ?? []) {
      if (!this.#hasEnded(owner)) continue
      for (const record of callsIn(await notes!.left(owner))) {
        const call = this.#close(record)
        if (call) interrupted.push(call)
      }
      await notes!.discard(owner)
    }
    return interrupted
  }

  async #recoverRecords(store: Store): Promise<readonly InterruptedCall[]> {
    const interrupted: InterruptedCall[] = []
    for (const { key, value } of await store.list('call')) {
      if (!this.#hasEnded(key.slice(0, key.lastIndexOf('/')))) continue
      const call = this.#close(value)
      if (call) interrupted.push(call)
      await store.remove('call', key)
    }
    return interrupted
  }

  #hasEnded(owner: string): boolean {
    return owner !== this.#owner.id && this.#owner.isGone(owner)
  }

  /** undefined for what is not of the form that is written here. */
  #close(record: Json): InterruptedCall | undefined {
    const call = readRecord(record)
    if (!call) return undefined
    const { sessionId, outcome: { metadata, error, error_text: message } } = call
    this.#sources.events.emit({
      type: 'ToolInvocationFailed', sessionId, callId: metadata.call_id, tool: metadata.tool, origin: metadata.origin,
      durationMs: 0, errorClass: error.class, errorCode: error.code, message,
    })
    return call
  }
}

function readRecord(value: Json): InterruptedCall | undefined {
  const { sessionId, callId, tool, origin = null, startedAt } = isJsonObject(value) ? value : {} as JsonObject
  if (typeof sessionId !== 'string' || typeof callId !== 'string' || typeof tool !== 'string') return undefined
  const error = new BulkheadError('CallInterrupted', `The call of "${tool}" was aborted: the host ended while it was open.`)
  return {
    sessionId,
    startedAt: typeof startedAt === 'number' ? new Date(startedAt).toISOString() : String(startedAt),
    outcome: {
      ...errorBody(error),
      metadata: { call_id: callId, tool, origin: origin as OutcomeOrigin | null, duration_ms: 0, attempt: 0 },
    },
  }
}
