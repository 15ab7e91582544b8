import { setImmediate as nextTurn } from 'node:timers/promises'

/** How long the loader may hold the event loop before others get a turn. */
const TURN_MS = 10

/**
 * Reading is synchronous, since a package is many small files and a hop through the thread pool costs more than most of
 * them. This hands the event loop back whenever the turn has become long.
 */
export class Pace {
  #began = performance.now()

  /** Undefined where there is nothing to wait for. */
  breathe(): Promise<void> | undefined {
    return performance.now() - this.#began < TURN_MS ? undefined : this.#takeTurn()
  }

  async #takeTurn(): Promise<void> {
    await nextTurn()
    this.#began = performance.now()
  }
}
