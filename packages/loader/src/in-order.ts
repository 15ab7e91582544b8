import type { Pace } from './pace.ts'
import type { Eventually } from './result.ts'

/** Does the work for each, some at once, and hands on the results in the order of the items. */
export async function inOrder<Item, Result>(
  items: readonly Item[], atOnce: number, pace: Pace,
  work: (item: Item) => Eventually<Result>, take: (item: Item, result: Result) => void,
): Promise<void> {
  const under: Eventually<Result>[] = []
  let begun = 0
  for (const item of items) {
    while (under.length < atOnce && begun < items.length) under.push(work(items[begun++]!))
    const first = under.shift()!
    take(item, first instanceof Promise ? await first : first)
    const turn = pace.breathe()
    if (turn !== undefined) await turn
  }
}
