import { setImmediate as nextTurn } from 'node:timers/promises'

/** How long the loader may hold the event loop. */
const TURN_MS = 10

/**
 * The loader reads synchronously: a package is many small files, and a hop through the thread pool costs more than
 * reading one. This gives the event loop back when a turn becomes long.
 */
export class Yielder {
  #startedAt = performance.now()

  /** Returns undefined when there is nothing to wait for. */
  yieldIfDue(): Promise<void> | undefined {
    return performance.now() - this.#startedAt < TURN_MS ? undefined : this.#yield()
  }

  async #yield(): Promise<void> {
    await nextTurn()
    this.#startedAt = performance.now()
  }
}

/** How many extensions are read while the schemas of others compile. */
const CONCURRENCY = 32

/** Runs `work` for each item, some at once, and passes the results to `take` in the order of the items. */
export async function inOrder<Item, Result>(
  items: readonly Item[], yielder: Yielder, work: (item: Item) => Promise<Result>,
  take: (item: Item, result: Result) => void,
): Promise<void> {
  const running: Promise<Result>[] = []
  let started = 0
  for (const item of items) {
    while (running.length < CONCURRENCY && started < items.length) running.push(work(items[started++]!))
    take(item, await running.shift()!)
    await yielder.yieldIfDue()
  }
}
