import { BulkheadError } from '@bulkhead/contract'

/** Where what a call begins is noted. */
export interface EffectNotes {
  /** The effect waits for the promise, if there is one. It must not begin if this throws or rejects. */
  begin(attempt: number, what: string, step: string | undefined): Promise<void> | undefined
}

interface Note {
  readonly step: string | undefined
  /** Until it is noted. */
  readonly pending: Promise<void> | undefined
  /** It is more than the start of the tool. */
  acts: boolean
}

const isLeft = ({ step }: Note, isKept: (step: string) => boolean): boolean => step === undefined || !isKept(step)

/** What of it is kept in words. */
const MOST_WORDS = 20

/**
 * What a call began that can have an effect. Each attempt, and each step of it, is noted once, before its first effect.
 */
export class BegunEffects {
  #notes: EffectNotes | undefined
  /** By attempt and step. */
  #noted: Map<string, Note> | undefined
  /** In words, for people. */
  #words: Set<string> | undefined

  noteIn(notes: EffectNotes): void {
    this.#notes = notes
  }

  /** What began, in words. undefined: nothing. */
  get words(): readonly string[] | undefined {
    return this.#words && [...this.#words]
  }

  /** Whether something began outside of the steps whose result is kept. */
  hasBegun(isKept: (step: string) => boolean): boolean {
    return this.#some((note) => isLeft(note, isKept))
  }

  /** The same, apart from starts of the tool, which may ask before it acts. */
  hasActed(isKept: (step: string) => boolean): boolean {
    return this.#some((note) => note.acts && isLeft(note, isKept))
  }

  #some(fits: (note: Note) => boolean): boolean {
    return this.#noted?.values().some(fits) === true
  }

  /** Whether something outside of steps is noted for the attempt. */
  isNoted(attempt: number): boolean {
    return this.#noted?.has(keyOf(attempt, undefined)) === true
  }

  /** Its start, outside of steps, was noted when the attempt started. */
  noted(attempt: number, what: string): void {
    this.#remember(what)
    this.#noted ??= new Map()
    this.#noted.set(keyOf(attempt, undefined), { step: undefined, pending: undefined, acts: false })
  }

  /** The tool was not started in the attempt: the note of its start stands for nothing. */
  notStarted(attempt: number): void {
    const noted = this.#noted
    const key = keyOf(attempt, undefined)
    if (noted?.get(key)?.acts !== false) return
    noted.delete(key)
    if (noted.size === 0) this.#words = undefined
  }

  /**
   * `isStart`: of the tool. Contract: the effect waits for the promise, and must not begin if this throws or rejects.
   */
  begin(attempt: number, what: string, step: string | undefined, isStart = false): Promise<void> | undefined {
    this.#remember(what)
    const key = keyOf(attempt, step)
    const noted = this.#noted ??= new Map()
    const known = noted.get(key)
    if (known) {
      known.acts ||= !isStart
      return known.pending
    }
    const pending = this.#notes?.begin(attempt, what, step)
    noted.set(key, { step, pending, acts: !isStart })
    // After a failure nothing has begun, and the next effect tries again.
    pending?.catch(() => noted.delete(key))
    return pending
  }

  #remember(what: string): void {
    const words = this.#words ??= new Set()
    if (words.size < MOST_WORDS) words.add(what)
  }
}

const keyOf = (attempt: number, step: string | undefined): string =>
  step === undefined ? String(attempt) : `${attempt} ${step}`

export const callOver = (): BulkheadError =>
  new BulkheadError('ToolCancelled', 'The call has ended, so it can begin nothing more. Await all work inside of it.')
