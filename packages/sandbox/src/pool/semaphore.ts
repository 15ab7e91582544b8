/** A counting semaphore. Waiters get their permit in order. */
export class Semaphore {
  readonly #most: number
  readonly #queue = new Set<() => void>()
  #taken = 0

  constructor(most: number) {
    this.#most = most
  }

  get taken(): number {
    return this.#taken
  }

  get waiting(): number {
    return this.#queue.size
  }

  /** Resolves with a function that releases the permit, once. Rejects with the reason of the signal, and leaves the queue. */
  take(signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) return Promise.reject(signal.reason as Error)
    if (this.#taken < this.#most) {
      this.#taken++
      return Promise.resolve(this.#permit())
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#queue.delete(enter)
        reject(signal.reason as Error)
      }
      const enter = (): void => {
        this.#queue.delete(enter)
        signal.removeEventListener('abort', leave)
        resolve(this.#permit())
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#queue.add(enter)
    })
  }

  #permit(): () => void {
    let held = true
    return () => {
      if (!held) return
      held = false
      const [next] = this.#queue
      // Passed on directly, so that a newcomer cannot overtake the queue.
      if (next === undefined) this.#taken--
      else next()
    }
  }
}
