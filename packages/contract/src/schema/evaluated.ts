/**
 * Which members of a value a schema has looked at: what `unevaluatedProperties` and `unevaluatedItems` leave alone. Kept only inside
 * schemas that have one of the two.
 */
export class Evaluated {
  readonly #names = new Set<string>()
  #allNames = false
  readonly #indexes = new Set<number>()
  /** All items before this one. */
  #before = 0

  addName(name: string): void {
    this.#names.add(name)
  }

  addAllNames(): void {
    this.#allNames = true
  }

  addItem(index: number): void {
    this.#indexes.add(index)
  }

  addItemsBefore(index: number): void {
    this.#before = Math.max(this.#before, index)
  }

  hasName(name: string): boolean {
    return this.#allNames || this.#names.has(name)
  }

  hasItem(index: number): boolean {
    return index < this.#before || this.#indexes.has(index)
  }

  add(other: Evaluated): void {
    for (const name of other.#names) this.#names.add(name)
    for (const index of other.#indexes) this.#indexes.add(index)
    this.#allNames ||= other.#allNames
    this.#before = Math.max(this.#before, other.#before)
  }
}
