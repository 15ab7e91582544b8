import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Eventually } from './result.ts'

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

/** So many are read while the schemas of others are being compiled. */
const AT_ONCE = 32

/** Does the work for each, some at once, and hands on the results in the order of the items. */
export async function inOrder<Item, Result>(
  items: readonly Item[], pace: Pace,
  work: (item: Item) => Eventually<Result>, take: (item: Item, result: Result) => void,
): Promise<void> {
  const under: Eventually<Result>[] = []
  let begun = 0
  for (const item of items) {
    while (under.length < AT_ONCE && begun < items.length) under.push(work(items[begun++]!))
    const first = under.shift()!
    take(item, first instanceof Promise ? await first : first)
    const turn = pace.breathe()
    if (turn !== undefined) await turn
  }
}
