/** How much is under way, and when nothing is. */
export class OpenWork {
  #count = 0
  #none: PromiseWithResolvers<void> | undefined

  get size(): number {
    return this.#count
  }

  enter(count: number): void {
    this.#count += count
  }

  /** Contract: as much as was entered. */
  leave(count: number): void {
    this.#count -= count
    if (this.#count > 0) return
    this.#none?.resolve()
    this.#none = undefined
  }

  /** Resolves when nothing is under way, at once if nothing is. */
  whenNone(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    this.#none ??= Promise.withResolvers<void>()
    return this.#none.promise
  }
}
