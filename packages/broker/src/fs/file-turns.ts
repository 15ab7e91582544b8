/** Whoever changes a file by what it held must be the only one meanwhile, in this process. */
const turns = new Map<string, Promise<unknown>>()

/** Changes to one file come one after the other, in the order they were asked for. */
export async function inTurn<T>(real: string, work: () => Promise<T>): Promise<T> {
  const before = turns.get(real)
  const mine = before === undefined ? work() : before.then(work, work)
  turns.set(real, mine)
  try {
    return await mine
  } finally {
    if (turns.get(real) === mine) turns.delete(real)
  }
}
