/** Where what a call begins is noted. */
export interface EffectNotes {
  /** The effect waits for the promise, if there is one. It must not begin if this throws or rejects. */
  begin(attempt: number, what: string, step: string | undefined): Promise<void> | undefined
}

/**
 * What a call began that can have an effect. Each attempt, and each step of it, is noted once, before its first effect.
 */
export class BegunEffects {
  #notes: EffectNotes | undefined
  /** By attempt and step. A promise is pending, or was noted. */
  readonly #noted = new Map<string, Promise<void> | undefined>()
  #hasBegunOutside = false
  readonly #steps = new Set<string>()

  /** undefined: nothing outlives the process, so nothing is noted. */
  noteIn(notes: EffectNotes | undefined): void {
    this.#notes = notes
  }

  /** Whether something began outside of the steps whose result is kept. */
  hasBegun(isKept: (step: string) => boolean): boolean {
    return this.#hasBegunOutside || this.#steps.values().some((step) => !isKept(step))
  }

  /** Contract: the effect waits for the promise, and must not begin if this throws or rejects. */
  begin(attempt: number, what: string, step: string | undefined): Promise<void> | undefined {
    const key = `${attempt} ${step ?? ''}`
    if (this.#noted.has(key)) return this.#noted.get(key)
    const pending = this.#notes?.begin(attempt, what, step)
    if (step === undefined) this.#hasBegunOutside = true
    else this.#steps.add(step)
    this.#noted.set(key, pending)
    // After a failure the next effect tries again.
    pending?.catch(() => this.#noted.delete(key))
    return pending
  }
}
