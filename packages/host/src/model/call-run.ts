import type { CallSteps, Clock, Started } from '@bulkhead/contract'
import { CallPhases } from './call-phases.ts'
import { BegunEffects, type EffectNotes } from './begun-effects.ts'
import type { Reservation } from './budget.ts'
import { Deadline } from './deadline.ts'

/** The steps of a call, over its attempts. */
interface KeptSteps extends CallSteps {
  /** The step that runs. */
  readonly open: string | undefined
  isKept(name: string): boolean
  /** Another attempt begins. */
  restart(): void
  /** Removes the results. Rejects with StoreUnavailable. */
  forget(): Promise<void>
}

/** What an attempt rests on, and what its start begins. */
interface AttemptStart {
  readonly revision: number | undefined
  readonly isInline: boolean
  readonly begins: { readonly attempt: number; readonly what: string } | undefined
}

/** A call in the journal. */
interface JournalEntry extends EffectNotes {
  start(start: AttemptStart): Promise<Started>
  close(): void
}

/**
 * The attempts of a call, what they began, and the time that they share. It runs while the call waits for its extension
 * to start and while the tool runs. Written by the stage that waits.
 */
export class Attempts {
  readonly effects = new BegunEffects()
  readonly phases = new CallPhases()
  #journal: JournalEntry | undefined
  /** Set with the first step. */
  steps: KeptSteps | undefined
  #count = 0
  #allowedMs = 0
  #usedMs = 0
  #pausedMs = 0

  /** 0 until the tool runs. */
  get count(): number {
    return this.#count
  }

  get leftMs(): number {
    return this.#allowedMs - this.#usedMs
  }

  /** How long it was paused, because people were asked. */
  get pausedMs(): number {
    return this.#pausedMs
  }

  begin(): void {
    this.#count++
  }

  /** The entry of the call in the journal. */
  noteIn(journal: JournalEntry): void {
    this.#journal = journal
    this.effects.noteIn(journal)
  }

  /** Passes the gate of the store. Contract: the call is in the journal. */
  start(start: AttemptStart): Promise<Started> {
    return this.#journal!.start(start)
  }

  /** All the time of the call. What was used stays used. */
  allow(ms: number): void {
    this.#allowedMs = ms
  }

  /** Between two attempts. */
  use(ms: number): void {
    this.#usedMs += ms
  }

  /** Lets the time run. `stop` follows. */
  run(clock: Clock, expire: () => void): Deadline {
    return new Deadline(clock, this.leftMs, expire)
  }

  stop(deadline: Deadline): void {
    deadline.stop()
    this.#usedMs = this.#allowedMs - deadline.leftMs
    this.#pausedMs += deadline.pausedMs
  }
}

/** The place of a call among those that its extension takes on. */
interface Admission {
  leave(): void
}

/** The idempotency key of a call. */
interface Keyed {
  readonly place: string
  readonly digest: string
  readonly claim: string
}

/** One call from request to outcome: how far it got, and what it holds. The pipeline alone writes it. */
export class CallRun<Call> {
  readonly attempts = new Attempts()
  #reached: Call
  #askedMs = 0
  #lease: (() => void) | undefined
  #admission: Admission | undefined
  #journal: JournalEntry | undefined
  #reservation: Reservation | undefined

  /** Set if its caller gave it an idempotency key, and outcomes are recorded. */
  keyed: Keyed | undefined
  /** It claimed that key. */
  claimed = false
  /** Its place among the recorded calls of its session. Absent if the session is not recorded. */
  number: number | undefined

  constructor(call: Call) {
    this.#reached = call
  }

  /** What the last stage returned. */
  get reached(): Call {
    return this.#reached
  }

  /** How long it waited for people. */
  get askedMs(): number {
    return this.#askedMs + this.attempts.pausedMs
  }

  get reservation(): Reservation | undefined {
    return this.#reservation
  }

  reach<Next extends Call>(next: Next): Next {
    this.#reached = next
    return next
  }

  asked(ms: number): void {
    this.#askedMs += ms
  }

  /** To its extension, which stays until then. */
  bind(lease: () => void): void {
    this.#lease = lease
  }

  admit(admission: Admission | undefined): void {
    this.#admission = admission
  }

  open(journal: JournalEntry): void {
    this.#journal = journal
    this.attempts.noteIn(journal)
  }

  charge(reservation: Reservation): Reservation {
    this.#reservation = reservation
    return reservation
  }

  /** Releases everything that it holds. `isRecorded`: the journal may forget it. */
  end(isRecorded = true): void {
    this.#lease?.()
    this.#admission?.leave()
    if (isRecorded) this.forget()
  }

  /** Its outcome is recorded. */
  forget(): void {
    this.#journal?.close()
  }
}
