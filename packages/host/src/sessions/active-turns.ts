/** Everybody who is in the middle of a turn. What may change between turns only waits until nobody is. */
export class ActiveTurns {
  #count = 0
  #idle: PromiseWithResolvers<void> | undefined

  get size(): number {
    return this.#count
  }

  /** Returns what leaves; leaving twice is once. */
  enter(): () => void {
    this.#count++
    let inside = true
    return () => {
      if (!inside) return
      inside = false
      if (--this.#count > 0) return
      this.#idle?.resolve()
      this.#idle = undefined
    }
  }

  /** Resolves when nobody is in a turn, at once if nobody is. */
  whenNone(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    this.#idle ??= Promise.withResolvers<void>()
    return this.#idle.promise
  }
}
