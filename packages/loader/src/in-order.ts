import type { Pace } from './model/yielder.ts'
import type { Eventually } from './model/result.ts'

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
