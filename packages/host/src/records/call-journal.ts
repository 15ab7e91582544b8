import { BulkheadError, type Clock } from '@bulkhead/contract'
import type { EffectNotes } from '../model/begun-effects.ts'
import type { EventBus } from './events.ts'
import { InterruptedCalls, type InterruptedCall, type InterruptionSources } from './interrupted-calls.ts'
import type { Owner } from './owner.ts'
import { createRedaction } from './redaction.ts'
import { JournalFile, termsOf, type BegunEffect, type JournalledCall } from './journal-file.ts'

/** One call in the journal. */
export interface JournalEntry extends EffectNotes {
  /** Settles when the store has it, or has failed; never rejects. Absent if `save` writes it. */
  readonly written?: Promise<void>
  /** Idempotent. */
  close(): void
}

/** A call that `save` writes, unless it is over by then. */
interface Note extends JournalEntry {
  readonly call: JournalledCall
  state: 'new' | 'noted' | 'over'
  /** Both are set once it is written. */
  number: number
  startedAt: number
  begun: readonly BegunEffect[]
}

export interface JournalSources extends InterruptionSources {
  readonly clock: Clock
}

/** A command line may hold a token. */
const SHAPES = createRedaction([])

const JOURNAL = 'journal of calls'
/** A call that has not left after this time is written while it waits. */
const WAITING_MS = 10

/**
 * Calls from before they run until they have settled, so that those a crash leaves open can be closed by the next host.
 * A store that fails costs the entry, never the call; but without its files no call runs.
 */
export class CallJournal {
  readonly #sources: JournalSources
  readonly #owner: Owner
  readonly #writes: PendingWrites
  /** Opened since the last save. */
  #unsaved: Note[] = []
  #notes: JournalFile | undefined
  #isSaving = false
  /** Whether the files of the store were seen in this tick. */
  #areFilesThere = false
  #count = 0
  #recovering: Promise<readonly InterruptedCall[]> | undefined

  constructor(sources: JournalSources) {
    this.#sources = sources
    this.#owner = sources.owner
    this.#writes = new PendingWrites(JOURNAL, sources.events)
  }

  /** undefined if the store does not outlive the process. */
  open(call: JournalledCall): JournalEntry | undefined {
    const { store } = this.#sources
    if (store.forgets) return undefined
    return store.notes ? this.#note(call) : this.#write(call)
  }

  /**
   * Writes every open call, and sends one. A single call into a compartment is sent first and written in the same tick:
   * this thread serves the compartment, and reads no message before it has written. To write it first made a guarded
   * call 15 % slower (p50, process). Throws StoreUnavailable, and sends nothing, if the files of the store are gone.
   */
  leave<Result>(send: () => Promise<Result>, isInline: boolean): Promise<Result> {
    this.#requireFiles()
    if (this.#unsaved.length > 1 || isInline) this.#save()
    const sent = send()
    // The message leaves in the microtasks before that.
    if (this.#unsaved.length > 0) queueMicrotask(this.#save)
    return sent
  }

  /** Once for the calls of one tick. */
  #requireFiles(): void {
    const { store } = this.#sources
    if (this.#areFilesThere || !store.requireFiles) return
    store.requireFiles()
    this.#areFilesThere = true
    setImmediate(this.#lookAgain)
  }

  readonly #lookAgain = (): void => {
    this.#areFilesThere = false
  }

  readonly #save = (): void => {
    const unsaved = this.#unsaved.filter(({ state }) => state === 'new')
    this.#unsaved = []
    if (unsaved.length === 0) return
    try {
      const startedAt = this.#sources.clock.now()
      for (const note of unsaved) this.#put(note, startedAt)
      this.#file.save()
    } catch (thrown) {
      this.#sources.events.suppressed(JOURNAL, thrown)
    }
  }

  get #file(): JournalFile {
    this.#notes ??= new JournalFile(this.#sources.store.notes!.open(this.#owner.id))
    return this.#notes
  }

  #put(note: Note, startedAt: number, begun?: readonly BegunEffect[]): void {
    note.number = this.#file.put(note.call, startedAt, begun)
    note.startedAt = startedAt
    note.state = 'noted'
  }

  readonly #saveNow = (): void => {
    this.#isSaving = false
    this.#save()
  }

  #note(call: JournalledCall): Note {
    const note: Note = {
      call, state: 'new', number: 0, startedAt: 0, begun: [],
      begin: (attempt, what, step) => this.#begin(note, { attempt, what, step }), close: () => this.#drop(note),
    }
    this.#unsaved.push(note)
    if (!this.#isSaving) setTimeout(this.#saveNow, WAITING_MS)
    this.#isSaving = true
    return note
  }

  /** Saved in this tick, with no wait for the disk. */
  #begin(note: Note, effect: NewEffect): undefined {
    if (note.state === 'over') throw callOver()
    this.#requireFiles()
    const at = this.#sources.clock.now()
    const begun = [...note.begun, noteOf(effect, at)]
    if (note.state === 'new') this.#put(note, at, begun)
    else this.#file.replace(note.number, note.call, note.startedAt, begun)
    this.#file.save()
    note.begun = begun
  }

  /** If an entry is not removed, the next host closes its call again. The call still has its outcome. */
  #drop(note: Note): void {
    const { state } = note
    note.state = 'over'
    if (state !== 'noted') return
    try {
      this.#notes!.drop(note.number)
    } catch (thrown) {
      this.#sources.events.suppressed(JOURNAL, thrown)
    }
  }

  #write({ session, id, name, tool, outcomeAt }: JournalledCall): JournalEntry {
    const { store, clock } = this.#sources
    const key = `${this.#owner.id}/${++this.#count}`
    const record = {
      sessionId: session.id, callId: id, tool: name, origin: { ...tool.origin }, startedAt: clock.now(),
      ...termsOf(tool.definition), ...(outcomeAt !== undefined && { outcomeAt }),
    }
    let open = true
    let begun: readonly BegunEffect[] = []
    return {
      written: this.#writes.add(store.write('call', key, record)),
      begin: (attempt, what, step) => {
        if (!open) throw callOver()
        const next = [...begun, noteOf({ attempt, what, step }, clock.now())]
        const written = store.write('call', key, { ...record, begun: next.map((effect) => ({ ...effect })) })
          .then(() => { begun = next })
        void this.#writes.add(written)
        return written
      },
      close: () => {
        if (open) void this.#writes.add(store.remove('call', key))
        open = false
      },
    }
  }

  /** Closes the calls that ended hosts left open, once. Resolves with them; never rejects. */
  recover(): Promise<readonly InterruptedCall[]> {
    this.#recovering ??= new InterruptedCalls(this.#sources).close().catch((thrown: unknown) => {
      this.#recovering = undefined
      this.#sources.events.suppressed('closing interrupted calls', thrown)
      return []
    })
    return this.#recovering
  }

  /**
   * Settles the calls of one host that has ended. Resolves with whether none is left: otherwise another host does it
   * now.
   */
  async settleCallsOf(owner: string): Promise<boolean> {
    const calls = new InterruptedCalls(this.#sources)
    await calls.close(owner)
    return calls.isSettled(owner)
  }

  /** Resolves when all writes are done and only open calls are left in the journal. */
  settled(): Promise<void> {
    try {
      this.#notes?.dropUnused()
    } catch (thrown) {
      this.#sources.events.suppressed(JOURNAL, thrown)
    }
    return this.#writes.settled()
  }
}

interface NewEffect extends Pick<BegunEffect, 'attempt' | 'what'> {
  readonly step: string | undefined
}

const noteOf = ({ attempt, what, step }: NewEffect, at: number): BegunEffect =>
  ({ attempt, at, what: SHAPES.text(what), ...(step !== undefined && { step }) })

const callOver = (): BulkheadError =>
  new BulkheadError('ToolCancelled', 'The call has ended, so it can begin nothing more. Await all work inside of it.')

/** Writes that are not awaited one by one. A failure is reported. */
export class PendingWrites {
  readonly #open = new Set<Promise<void>>()
  readonly #source: string
  readonly #events: EventBus

  constructor(source: string, events: EventBus) {
    this.#source = source
    this.#events = events
  }

  /** Settles with the write; never rejects. */
  add(write: Promise<unknown>): Promise<void> {
    const done: Promise<void> = write.then(
      () => {},
      (thrown: unknown) => this.#events.suppressed(this.#source, thrown),
    ).finally(() => this.#open.delete(done))
    this.#open.add(done)
    return done
  }

  async settled(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open)
  }
}
