/** Where what a call begins is noted. */
export interface EffectNotes {
  /** The effect waits for the promise, if there is one. It must not begin if this throws or rejects. */
  begin(attempt: number, what: string, step: string | undefined): Promise<void> | undefined
}

/** What of it is kept in words. */
const MOST_WORDS = 20

/**
 * What a call began that can have an effect. Each attempt, and each step of it, is noted once, before its first effect.
 */
export class BegunEffects {
  #notes: EffectNotes | undefined
  /** By attempt and step. A promise is pending, or was noted. */
  #noted: Map<string, Promise<void> | undefined> | undefined
  /** In words, for people. */
  #words: Set<string> | undefined
  #hasBegunOutside = false
  /** The same without the start of a tool, which may ask before it acts. */
  #hasActedOutside = false
  #steps: Set<string> | undefined

  noteIn(notes: EffectNotes): void {
    this.#notes = notes
  }

  /** What began, in words. undefined: nothing. */
  get words(): readonly string[] | undefined {
    return this.#words && [...this.#words]
  }

  /** Whether something began outside of the steps whose result is kept. */
  hasBegun(isKept: (step: string) => boolean): boolean {
    return this.#hasBegunOutside || this.#hasBegunIn(isKept)
  }

  /** The same, apart from starts of the tool. */
  hasActed(isKept: (step: string) => boolean): boolean {
    return this.#hasActedOutside || this.#hasBegunIn(isKept)
  }

  #hasBegunIn(isKept: (step: string) => boolean): boolean {
    return this.#steps?.values().some((step) => !isKept(step)) === true
  }

  /** Whether something outside of steps is noted for the attempt. */
  isNoted(attempt: number): boolean {
    return this.#noted?.has(keyOf(attempt, undefined)) === true
  }

  /** Its start, outside of steps, was noted when the attempt started. */
  noted(attempt: number, what: string): void {
    this.#remember(what)
    this.#noted ??= new Map()
    this.#noted.set(keyOf(attempt, undefined), undefined)
    this.#hasBegunOutside = true
  }

  /**
   * `isStart`: of the tool. Contract: the effect waits for the promise, and must not begin if this throws or rejects.
   */
  begin(attempt: number, what: string, step: string | undefined, isStart = false): Promise<void> | undefined {
    this.#remember(what)
    if (step === undefined && !isStart) this.#hasActedOutside = true
    const key = keyOf(attempt, step)
    const noted = this.#noted ??= new Map()
    if (noted.has(key)) return noted.get(key)
    const pending = this.#notes?.begin(attempt, what, step)
    if (step === undefined) this.#hasBegunOutside = true
    else (this.#steps ??= new Set()).add(step)
    noted.set(key, pending)
    // After a failure the next effect tries again.
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
