/** Does the work for each, some at once, and gives the results in the order of the items. */
export async function* inOrder<Item, Result>(
  items: readonly Item[], atOnce: number, work: (item: Item) => Promise<Result>,
): AsyncGenerator<readonly [Item, Result]> {
  const under: Promise<Result>[] = []
  for (const [index, item] of items.entries()) {
    while (under.length < atOnce && index + under.length < items.length) under.push(work(items[index + under.length]!))
    yield [item, await under.shift()!]
  }
}
