import { isReadyWithin, type EmptyHull, type HullShape, type StartHull } from '../process/hull.ts'

const ALIVE_MS = 1_000

export interface SparesOptions {
  readonly start: StartHull
  readonly most: number
  /** Whether there may be one more. */
  readonly room: () => boolean
  /** How long a start may take. Default: ten seconds. */
  readonly readyMs?: number
}

/** Hulls that are started in advance. There are none before the first `refill`. */
export class Spares {
  readonly #options: SparesOptions
  /** Oldest first. */
  readonly #waiting = new Set<EmptyHull>()
  /** Killed, and not gone yet. */
  readonly #ending = new Set<EmptyHull>()
  #closed = false

  constructor(options: SparesOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Resolves when each of them is locked down or gone. */
  async settled(): Promise<void> {
    // Spares do not keep the host alive; waiting for them does.
    const alive = setInterval(() => undefined, ALIVE_MS)
    await Promise.all([...this.#waiting].map((spare) => spare.ready))
    clearInterval(alive)
  }

  /** Removes and returns one that fits, even while it still starts. */
  take(limits: HullShape): EmptyHull | undefined {
    for (const spare of this.#waiting) {
      if (!spare.fits(limits)) continue
      this.#waiting.delete(spare)
      return spare
    }
    return undefined
  }

  /** Starts missing spares. When none fits the wanted shape, one that does replaces the oldest. */
  refill(wanted: HullShape): void {
    if (this.#closed || this.#options.most === 0) return
    while (this.#waiting.size < this.#options.most && this.#options.room()) if (!this.#start(wanted)) return
    if ([...this.#waiting].some((spare) => spare.fits(wanted))) return
    if (this.drop()) this.#start(wanted)
  }

  /** Kills the oldest. Returns whether there was one. */
  drop(): boolean {
    const [oldest] = this.#waiting
    if (oldest === undefined) return false
    this.#end(oldest)
    return true
  }

  /** Idempotent. Resolves when all are gone. */
  async close(): Promise<void> {
    this.#closed = true
    while (this.drop());
    await Promise.all([...this.#ending].map((spare) => spare.exited))
  }

  #end(spare: EmptyHull): void {
    this.#waiting.delete(spare)
    this.#ending.add(spare)
    void spare.exited.then(() => this.#ending.delete(spare))
    spare.kill()
  }

  /** One that is running already, also where no other is kept. */
  adopt(hull: EmptyHull, shape: HullShape): void {
    this.#waiting.add(hull)
    void this.#replaceWhenDead(hull, shape)
  }

  #start(shape: HullShape): boolean {
    try {
      this.adopt(this.#options.start(shape, true), shape)
      return true
    } catch {
      // The next opening reports the error.
      return false
    }
  }

  async #replaceWhenDead(spare: EmptyHull, shape: HullShape): Promise<void> {
    const { readyMs } = this.#options
    const wasReady = await isReadyWithin(spare, readyMs)
    if (!wasReady && this.#waiting.has(spare)) this.#end(spare)
    await spare.exited
    // A spare that cannot start would be replaced forever.
    if (this.#waiting.delete(spare) && wasReady) this.refill(shape)
  }
}
