import type {
  BegunEffect, CallEntry, CallTerms, Clock, OutcomeOrigin, Started, ToolDefinition,
} from '@bulkhead/contract'
import { oncePerTick } from '@bulkhead/kit/once-per-tick'
import type { EffectNotes } from '../model/begun-effects.ts'
import type { EventBus } from './events.ts'
import { InterruptedCalls, type InterruptedCall, type InterruptionSources } from './interrupted-calls.ts'
import { createRedaction } from './redaction.ts'

/** A call as the journal records it. */
export interface JournalledCall {
  readonly id: string
  readonly name: string
  readonly session: { readonly id: string }
  readonly tool: {
    readonly origin: OutcomeOrigin
    readonly definition: Pick<ToolDefinition, 'effects' | 'verify'>
  }
  /** Where the outcome of a call with an idempotency key is kept. */
  readonly outcomeAt?: string | undefined
  /** The host that continues it after a pause, as it claimed it. */
  readonly claimedBy?: string | undefined
}

/** What an attempt rests on, and what its start begins. */
export interface AttemptStart {
  /** Of the approvals. undefined: it rests on none, or is not the first attempt. */
  readonly revision: number | undefined
  readonly isInline: boolean
  readonly begins: { readonly attempt: number; readonly what: string } | undefined
}

/** One call in the journal. */
export interface JournalEntry extends EffectNotes {
  /** Before each attempt. Rejects with StoreUnavailable, and then nothing may run. */
  start(start: AttemptStart): Promise<Started>
  /** Idempotent. */
  close(): void
}

export interface JournalSources extends InterruptionSources {
  readonly clock: Clock
}

/** A command line may hold a token. */
const SHAPES = createRedaction([])

/**
 * Calls from before they run until they have settled, so that those a crash leaves open can be closed by the next host.
 * An entry that cannot be saved costs no call; but without the files of the store, and its gate, no call runs.
 */
export class CallJournal {
  readonly #sources: JournalSources
  /** By session and tool, so that calls with the same terms have the same object. */
  readonly #terms = new WeakMap<object, WeakMap<object, CallTerms>>()
  readonly #lookForFiles = oncePerTick(() => this.#sources.store.requireFiles!())
  readonly #closed: InterruptedCall[] = []
  /** Calls are closed one host after the other, so that none is closed twice. */
  #turn: Promise<unknown> = Promise.resolve()
  #recovering: Promise<readonly InterruptedCall[]> | undefined

  constructor(sources: JournalSources) {
    this.#sources = sources
  }

  open(call: JournalledCall): JournalEntry {
    const { seat, clock } = this.#sources
    const { id: callId, outcomeAt, claimedBy } = call
    const entry: CallEntry =
      seat.open({ terms: this.#termsOf(call), callId, ...(outcomeAt !== undefined && { outcomeAt }) }, claimedBy)
    return {
      start: ({ revision, isInline, begins }) => {
        this.#requireFiles()
        const at = clock.now()
        return entry.start({ at, revision, isInline, ...(begins && { begins: noteOf({ ...begins, at }) }) })
      },
      begin: (attempt, what, step) => {
        this.#requireFiles()
        return entry.begin(noteOf({ attempt, what, at: clock.now(), ...(step !== undefined && { step }) }))
      },
      close: () => entry.end(),
    }
  }

  #termsOf({ session, name, tool }: JournalledCall): CallTerms {
    const ofSession = this.#terms.getOrInsertComputed(session, () => new WeakMap())
    const known = ofSession.get(tool)
    if (known?.tool === name) return known
    const { origin, definition: { effects, verify } } = tool
    const terms: CallTerms = { sessionId: session.id, tool: name, origin, effects, ...(verify !== undefined && { verify }) }
    ofSession.set(tool, terms)
    return terms
  }

  #requireFiles(): void {
    if (this.#sources.store.requireFiles) this.#lookForFiles()
  }

  /** Closes the calls that ended hosts left open. Resolves with all of them so far; never rejects. */
  recover(): Promise<readonly InterruptedCall[]> {
    this.#recovering ??= this.#close()
    return this.#recovering
  }

  /** Another host is gone: closes what it left, after what is being closed. */
  recoverAgain(): void {
    this.#recovering = this.recover().then(() => this.#close())
  }

  async #close(): Promise<readonly InterruptedCall[]> {
    try {
      this.#closed.push(...await this.#inTurn((calls) => calls.close()))
    } catch (thrown) {
      this.#recovering = undefined
      this.#sources.events.suppressed('closing interrupted calls', thrown)
    }
    return [...this.#closed]
  }

  /**
   * Settles the calls of one host that has ended. Resolves with whether none is left: otherwise another host does it
   * now.
   */
  settleCallsOf(owner: string): Promise<boolean> {
    return this.#inTurn(async (calls) => {
      this.#closed.push(...await calls.close(owner))
      return calls.isSettled(owner)
    })
  }

  #inTurn<Value>(close: (calls: InterruptedCalls) => Promise<Value>): Promise<Value> {
    const closing = this.#turn.then(() => close(new InterruptedCalls(this.#sources)))
    this.#turn = closing.catch(() => undefined)
    return closing
  }

  /** Resolves when all writes are done and only open calls are left in the journal. */
  settled(): Promise<void> {
    return this.#sources.seat.settled()
  }
}

const noteOf = ({ what, ...effect }: BegunEffect): BegunEffect => ({ ...effect, what: SHAPES.text(what) })

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
