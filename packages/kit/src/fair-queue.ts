/** Items that wait, by owner. Owners take turns; the items of one owner come in the order of their arrival. */
export class FairQueue<Owner, Item> {
  readonly #most: number
  /** The first owner has the next turn. No line is empty. */
  readonly #lines = new Map<Owner, Set<Item>>()

  /** `most`: how many items of one owner may wait. */
  constructor(most: number) {
    this.#most = most
  }

  get isEmpty(): boolean {
    return this.#lines.size === 0
  }

  /** Returns false if too many items of the owner wait already. */
  add(owner: Owner, item: Item): boolean {
    const line = this.#lines.get(owner)
    if (line === undefined) this.#lines.set(owner, new Set([item]))
    else if (line.size >= this.#most) return false
    else line.add(item)
    return true
  }

  /**
   * Removes and returns the item that has its turn, if it fits. With `passes`, the first one that fits of the others
   * otherwise. An item that does not fit keeps its turn.
   */
  next(fits: (item: Item) => boolean = () => true, passes = false): Item | undefined {
    for (const [owner, line] of this.#lines) {
      const [item] = line
      if (!fits(item!)) {
        if (passes) continue
        return undefined
      }
      line.delete(item!)
      this.#lines.delete(owner)
      if (line.size > 0) this.#lines.set(owner, line)
      return item
    }
    return undefined
  }

  /** Removes an item that no longer waits. */
  remove(owner: Owner, item: Item): void {
    const line = this.#lines.get(owner)
    if (line?.delete(item) && line.size === 0) this.#lines.delete(owner)
  }

  find(matches: (item: Item) => boolean): Item | undefined {
    return this.#lines.values().flatMap((line) => line).find(matches)
  }

  /** Removes and returns all items. */
  takeAll(): readonly Item[] {
    const all = [...this.#lines.values()].flatMap((line) => [...line])
    this.#lines.clear()
    return all
  }
}
