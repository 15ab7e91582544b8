/** Where what a call begins is noted. */
export interface EffectNotes {
  /** The effect waits for the promise, if there is one. It must not begin if this throws or rejects. */
  begin(attempt: number, what: string): Promise<void> | undefined
}

/** What a call began that can have an effect. Each attempt is noted once, before its first effect. */
export class BegunEffects {
  #notes: EffectNotes | undefined
  /** The attempt that has begun something, or is about to. */
  #attempt = 0
  #pending: Promise<void> | undefined
  #hasBegun = false

  /** undefined: nothing outlives the process, so nothing is noted. */
  noteIn(notes: EffectNotes | undefined): void {
    this.#notes = notes
  }

  /** Whether any attempt has begun something. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Contract: the effect waits for the promise, and must not begin if this throws or rejects. */
  begin(attempt: number, what: string): Promise<void> | undefined {
    if (this.#attempt === attempt) return this.#pending
    const pending = this.#notes?.begin(attempt, what)
    this.#attempt = attempt
    this.#pending = pending
    if (pending === undefined) this.#hasBegun = true
    pending?.then(
      () => {
        this.#hasBegun = true
        this.#settled(pending)
      },
      () => {
        // The next effect tries again.
        if (this.#pending === pending) this.#attempt = 0
        this.#settled(pending)
      },
    )
    return pending
  }

  #settled(pending: Promise<void>): void {
    if (this.#pending === pending) this.#pending = undefined
  }
}
