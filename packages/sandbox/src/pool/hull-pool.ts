import type { CompartmentLimits } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import type { Hull, HullShape, StartHull } from '../process/hull.ts'
import { Berths } from './semaphore.ts'
import { Spares } from './spares.ts'

export interface HullPoolOptions {
  /** Called when the first one is needed, so that a host that needs none starts nothing. */
  readonly starter: () => Promise<StartHull>
  /** Done once, after the first was opened, and before spares are started. Never rejects. */
  readonly beforeSpares: () => Promise<void>
  /** At once, spares among them. */
  readonly most: number
  readonly spares: number
  /** Called while an opening waits in line: somebody may give a place back that is of no use to them. */
  readonly crowded: () => void
}

const REFILL_MS = 25
const CROWDED_MS = 50

export interface Census {
  readonly used: number
  readonly spare: number
  /** Openings that wait for a place. */
  readonly inLine: number
}

/** The places of one kind: a bound on them, and some that wait ready. */
export class HullPool {
  readonly #options: HullPoolOptions
  readonly #berths: Berths
  readonly #used = new Set<Hull>()
  #started: Promise<{ readonly start: StartHull; readonly spares: Spares }> | undefined
  #spares: Spares | undefined
  #wanted: HullShape | undefined
  #later: NodeJS.Timeout | undefined
  #refilling: Promise<void> | undefined

  constructor(options: HullPoolOptions) {
    this.#options = options
    this.#berths = new Berths(options.most)
  }

  get census(): Census {
    return { used: this.#berths.taken, spare: this.#spares?.size ?? 0, inLine: this.#berths.waiting }
  }

  /** A place of one's own: a spare where one fits, else a new one, in the order in which they are asked for. */
  async open(limits: CompartmentLimits, signal: AbortSignal): Promise<Hull> {
    const leave = await this.#enter(limits.startMs, signal)
    try {
      const { start, spares } = await this.#starting()
      signal.throwIfAborted()
      const spare = spares.take(limits)
      if (spare === undefined && this.#berths.taken + spares.size > this.#options.most) spares.drop()
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

  /** A little later: to start a process holds the host up, and what was just opened is about to be called. */
  refill(wanted: HullShape): void {
    this.#wanted = wanted
    this.#later ??= setTimeout(() => {
      this.#later = undefined
      this.#refilling = this.#options.beforeSpares().then(() => this.#spares?.refill(this.#wanted!))
    }, REFILL_MS).unref()
  }

  /** Starts spares without waiting for an opening. Resolves when each of them is locked down and waits, or is gone. */
  async warm(wanted: HullShape): Promise<void> {
    const { spares } = await this.#starting()
    await this.#options.beforeSpares()
    spares.refill(wanted)
    await spares.settled()
  }

  /** Idempotent. Ends all of them, and resolves when nothing of them is left. Contract: nothing is opened any more. */
  async close(): Promise<void> {
    clearTimeout(this.#later)
    await this.#refilling
    await this.#started?.catch(() => undefined)
    for (const hull of this.#used) hull.kill()
    await Promise.all([this.#spares?.close(), ...[...this.#used].map((hull) => hull.exited)])
  }

  /** The line has a limit of its own: what waits there is not to blame for it. */
  async #enter(startMs: number, signal: AbortSignal): Promise<() => void> {
    const late = new AbortController()
    const timer = setTimeout(() => {
      const { most } = this.#options
      const why = `None of the ${most} places for compartments became free within ${startMs} ms. Close some, or allow more.`
      late.abort(new BulkheadError('NoPlaceFree', why, { data: { most } }))
    }, startMs)
    const place = this.#berths.take(AbortSignal.any([signal, late.signal]))
    if (this.#berths.waiting > 0) this.#options.crowded()
    const crowded = setInterval(this.#options.crowded, CROWDED_MS)
    try {
      return await place
    } finally {
      clearTimeout(timer)
      clearInterval(crowded)
    }
  }

  #starting(): Promise<{ readonly start: StartHull; readonly spares: Spares }> {
    this.#started ??= this.#options.starter().then((start) => {
      const { most, spares: count } = this.#options
      this.#spares = new Spares({ start, most: count, room: () => this.#berths.taken + this.#spares!.size < most })
      return { start, spares: this.#spares }
    }).catch((error: unknown) => {
      this.#started = undefined
      throw error
    })
    return this.#started
  }
}
