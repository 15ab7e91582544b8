import { BulkheadError, type CompartmentLimits, type Placement } from '@bulkhead/contract'
import type { Hull, HullShape, StartHull } from '../process/hull.ts'
import type { HullStarter } from '../process/walled-hulls.ts'
import { Spares } from './spares.ts'

/** The placements that have a hull. */
export type PooledPlacement = Exclude<Placement, 'inline'>
export type Pools = Readonly<Record<PooledPlacement, HullPool>>

export interface HullPoolOptions {
  /** Called when the first hull is needed, of this shape. Calls back when it waits for the first one. */
  readonly starter: (shape: HullShape, onBegun: () => void) => Promise<HullStarter>
  /** Called before spares are started. Never rejects. */
  readonly beforeSpares: () => Promise<void>
  /** Hulls at once, spares included. */
  readonly most: number
  readonly spares: number
  /** Called while an opening waits: an idle compartment may be evicted. */
  readonly crowded: () => void
}

/** The first calls of a compartment follow each other, and starting a process takes their time. */
const REFILL_MS = 500
const CROWDED_MS = 50

export interface PoolUsage {
  readonly used: number
  readonly spare: number
  /** Openings that wait for a place. */
  readonly inLine: number
}

/** The hulls of one placement: a bound on them, and spares. */
export class HullPool {
  readonly #options: HullPoolOptions
  readonly #permits: Semaphore
  readonly #used = new Set<Hull>()
  #started: Promise<{ readonly start: StartHull; readonly spares: Spares }> | undefined
  #spares: Spares | undefined
  #wanted: HullShape | undefined
  #later: NodeJS.Timeout | undefined
  #refilling: Promise<void> | undefined

  constructor(options: HullPoolOptions) {
    this.#options = options
    this.#permits = new Semaphore(options.most)
  }

  get usage(): PoolUsage {
    return { used: this.#permits.taken, spare: this.#spares?.size ?? 0, inLine: this.#permits.waiting }
  }

  /** Takes a spare that fits, or starts a hull. Openings are served in order. */
  async open(limits: CompartmentLimits, signal: AbortSignal): Promise<Hull> {
    const leave = await this.#enter(limits.startMs, signal)
    try {
      const { start, spares } = await this.#starting(limits)
      signal.throwIfAborted()
      const spare = spares.take(limits)
      if (spare === undefined && this.#permits.taken + spares.size > this.#options.most) spares.drop()
      const hull = (spare ?? start(limits, false)).assign(limits)
      this.#used.add(hull)
      void hull.exited.then(() => {
        this.#used.delete(hull)
        leave()
      })
      return hull
    } catch (error) {
      leave()
      throw error
    }
  }

  /** Delayed: starting a process blocks the host, and the new compartment is about to be called. */
  refill(wanted: HullShape): void {
    if (this.#options.spares === 0) return
    this.#wanted = wanted
    this.#later ??= setTimeout(() => {
      this.#later = undefined
      this.#refilling = this.#options.beforeSpares().then(() => this.#spares?.refill(this.#wanted!))
    }, REFILL_MS).unref()
  }

  /** A hull of this shape will soon be opened. Resolves when the first one starts, or is there. Never rejects. */
  prepare(shape: HullShape): Promise<void> {
    if (this.#started !== undefined) return Promise.resolve()
    return new Promise((resolve) => void this.#starting(shape, resolve).then(() => resolve(), () => resolve()))
  }

  /** Starts spares now. Resolves when each of them waits locked down, or has ended. */
  async warm(wanted: HullShape): Promise<void> {
    const { spares } = await this.#starting(wanted)
    await this.#options.beforeSpares()
    spares.refill(wanted)
    await spares.settled()
  }

  /** Idempotent. Kills all hulls, and resolves when they are gone. Contract: nothing is opened any more. */
  async close(): Promise<void> {
    clearTimeout(this.#later)
    await this.#refilling
    await this.#started?.catch(() => undefined)
    for (const hull of this.#used) hull.kill()
    await Promise.all([this.#spares?.close(), ...[...this.#used].map((hull) => hull.exited)])
  }

  /** Waiting has its own time limit, and is not counted against the start of the code. */
  async #enter(startMs: number, signal: AbortSignal): Promise<() => void> {
    const late = new AbortController()
    const timer = setTimeout(() => {
      const { most } = this.#options
      const why = `None of the ${most} places for compartments became free within ${startMs} ms. `
        + 'Close some, or allow more.'
      late.abort(new BulkheadError('NoPlaceFree', why, { data: { most } }))
    }, startMs)
    const place = this.#permits.take(AbortSignal.any([signal, late.signal]))
    if (this.#permits.waiting > 0) this.#options.crowded()
    const crowded = setInterval(this.#options.crowded, CROWDED_MS)
    try {
      return await place
    } finally {
      clearTimeout(timer)
      clearInterval(crowded)
    }
  }

  #starting(
    shape: HullShape, onBegun: () => void = () => undefined,
  ): Promise<{ readonly start: StartHull; readonly spares: Spares }> {
    this.#started ??= this.#options.starter(shape, onBegun).then(({ start, first }) => {
      const { most, spares: count } = this.#options
      this.#spares = new Spares({ start, most: count, room: () => this.#permits.taken + this.#spares!.size < most })
      if (first !== undefined) this.#spares.adopt(first, shape)
      return { start, spares: this.#spares }
    }).catch((error: unknown) => {
      this.#started = undefined
      throw error
    })
    return this.#started
  }
}

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

  /**
   * Resolves with a function that releases the permit, once. Rejects with the reason of the signal, and leaves the
   * queue.
   */
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
