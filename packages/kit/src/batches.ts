interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export interface BatchOptions {
  /** How many batches may be under way. Default: 1. */
  readonly flights?: number
  /** How many items one of them takes. Default: 256. */
  readonly most?: number
}

/**
 * Sends items together: at once if nothing is under way, and otherwise with the next round trip. So a single item waits
 * for none, and a thousand share a few.
 */
export class Batches<Item, Result> {
  readonly #send: (items: readonly Item[]) => Promise<readonly Result[]>
  readonly #flights: number
  readonly #most: number
  #waiting: Waiting<Item, Result>[] = []
  #underWay = 0
  #isPlanned = false

  constructor(send: (items: readonly Item[]) => Promise<readonly Result[]>, { flights = 1, most = 256 }: BatchOptions = {}) {
    this.#send = send
    this.#flights = flights
    this.#most = most
  }

  add(item: Item): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    this.#waiting.push({ item, resolve, reject })
    if (!this.#isPlanned && this.#underWay < this.#flights) {
      this.#isPlanned = true
      queueMicrotask(() => {
        this.#isPlanned = false
        this.#next()
      })
    }
    return promise
  }

  #next(): void {
    while (this.#waiting.length > 0 && this.#underWay < this.#flights) void this.#flush(this.#waiting.splice(0, this.#most))
  }

  async #flush(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    this.#underWay++
    try {
      const results = await this.#send(batch.map(({ item }) => item))
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    this.#underWay--
    this.#next()
  }
}
