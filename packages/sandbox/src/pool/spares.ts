import type { EmptyHull, HullShape, StartHull } from '../process/hull.ts'

const ALIVE_MS = 1_000
/** A start takes a small part of it. One that got too few threads of the system may wait for the others for ever. */
const READY_MS = 10_000

export interface SparesOptions {
  readonly start: StartHull
  readonly most: number
  /** Whether there may be one more. */
  readonly room: () => boolean
  /** How long one may take until it is locked down. Ten seconds unless given. */
  readonly readyMs?: number
}

/** Places that were started before anyone needs them. None is there before the first `refill`. */
export class Spares {
  readonly #options: SparesOptions
  /** The oldest first. */
  readonly #waiting = new Set<EmptyHull>()
  /** Told to end, and not gone yet. */
  readonly #ending = new Set<EmptyHull>()
  #closed = false

  constructor(options: SparesOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Each of them is locked down, or gone. */
  async settled(): Promise<void> {
    // Spares do not keep the host alive. Who waits for them does.
    const alive = setInterval(() => undefined, ALIVE_MS)
    await Promise.all([...this.#waiting].map((spare) => spare.ready))
    clearInterval(alive)
  }

  /** One that fits, also if it is still starting; it is the caller's from then on. */
  take(limits: HullShape): EmptyHull | undefined {
    for (const spare of this.#waiting) {
      if (!spare.fits(limits)) continue
      this.#waiting.delete(spare)
      return spare
    }
    return undefined
  }

  /** Brings their number up again. When none would do for what was wanted last, one that would takes the oldest's place. */
  refill(wanted: HullShape): void {
    if (this.#closed || this.#options.most === 0) return
    while (this.#waiting.size < this.#options.most && this.#options.room()) if (!this.#start(wanted)) return
    if ([...this.#waiting].some((spare) => spare.fits(wanted))) return
    if (this.drop()) this.#start(wanted)
  }

  /** Ends the oldest. Says whether there was one. */
  drop(): boolean {
    const [oldest] = this.#waiting
    if (oldest === undefined) return false
    this.#end(oldest)
    return true
  }

  /** Idempotent. Resolves when nothing of them is left. */
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

  #start(shape: HullShape): boolean {
    let spare: EmptyHull
    try {
      spare = this.#options.start(shape, true)
    } catch {
      // Nobody waits for it; who needs a place is told why there is none.
      return false
    }
    this.#waiting.add(spare)
    void this.#replaceWhenDead(spare, shape)
    return true
  }

  async #replaceWhenDead(spare: EmptyHull, shape: HullShape): Promise<void> {
    const late = setTimeout(() => this.#waiting.has(spare) && this.#end(spare), this.#options.readyMs ?? READY_MS).unref()
    const wasReady = await spare.ready
    clearTimeout(late)
    await spare.exited
    // One that cannot even start would do so for ever.
    if (this.#waiting.delete(spare) && wasReady) this.refill(shape)
  }
}
