/** A bound on how many there are at once. Who comes when none is free waits in line, and gets one in that order. */
export class Berths {
  readonly #most: number
  readonly #line = new Set<() => void>()
  #taken = 0

  constructor(most: number) {
    this.#most = most
  }

  get taken(): number {
    return this.#taken
  }

  get waiting(): number {
    return this.#line.size
  }

  /** Resolves with what gives it back, once. Rejects with the reason of the signal, and has left the line then. */
  take(signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) return Promise.reject(signal.reason as Error)
    if (this.#taken < this.#most) {
      this.#taken++
      return Promise.resolve(this.#berth())
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#line.delete(enter)
        reject(signal.reason as Error)
      }
      const enter = (): void => {
        this.#line.delete(enter)
        signal.removeEventListener('abort', leave)
        resolve(this.#berth())
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#line.add(enter)
    })
  }

  #berth(): () => void {
    let held = true
    return () => {
      if (!held) return
      held = false
      const [next] = this.#line
      // It goes from hand to hand, so that nobody who comes just now gets before those in line.
      if (next === undefined) this.#taken--
      else next()
    }
  }
}
