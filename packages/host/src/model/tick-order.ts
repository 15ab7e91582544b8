/**
 * Lets the calls of one tick continue in the order in which they were made, however many awaits each of them needed to get
 * here.
 */
export class TickOrder {
  #waiting: { readonly number: number; readonly resume: () => void }[] = []

  /** Call it from a microtask. Resolves when every other call of this tick has arrived, or waits for something else. */
  turn(number: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    // From a microtask, nextTick runs after the microtask queue is empty.
    if (this.#waiting.push({ number, resume: resolve }) === 1) process.nextTick(this.#resume)
    return promise
  }

  readonly #resume = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { resume } of waiting.toSorted((one, other) => one.number - other.number)) resume()
  }
}
