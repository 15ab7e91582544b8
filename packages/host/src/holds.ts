interface Hold {
  /** Made when somebody waits for it: most holds are let go of unnoticed. */
  gone: PromiseWithResolvers<void> | undefined
}

/** Who still needs something that is to be taken away: turns that know a tool, calls that are bound to it. */
export class Holds {
  readonly #held = new Set<Hold>()

  /** Returns what lets go. Doing so twice is once. */
  enter(): () => void {
    const hold: Hold = { gone: undefined }
    this.#held.add(hold)
    return () => {
      if (this.#held.delete(hold)) hold.gone?.resolve()
    }
  }

  get size(): number {
    return this.#held.size
  }

  /** Resolves when all who hold it now have let go. Whoever comes later is not waited for. */
  async whenReleased(): Promise<void> {
    await Promise.all(Array.from(this.#held, (hold) => (hold.gone ??= Promise.withResolvers<void>()).promise))
  }

  /** Resolves at a moment when nobody holds it. */
  async whenNone(): Promise<void> {
    while (this.#held.size > 0) await this.whenReleased()
  }
}
