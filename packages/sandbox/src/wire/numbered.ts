const PLACES = 256
const NOBODY = -1
/** Copied: to fill as many places anew takes longer than all else that a compartment is made of on our side. */
const NUMBERS: readonly number[] = Array.from({ length: PLACES }, () => NOBODY)
const VALUES: readonly undefined[] = Array.from({ length: PLACES }, () => undefined)

/**
 * What is open, by its number. A Map is made anew whenever it becomes empty, which is after each call of someone who waits for
 * one before the next. Here most numbers have a place of their own, and only those go into a Map whose place is taken.
 */
export class Numbered<Value> {
  readonly #numbers = NUMBERS.slice()
  readonly #values: (Value | undefined)[] = VALUES.slice()
  readonly #others = new Map<number, Value>()
  #size = 0

  get size(): number {
    return this.#size
  }

  has(number: number): boolean {
    return this.#numbers[placeOf(number)] === number || this.#others.has(number)
  }

  /** Contract: a number that is not there yet, and not below zero. */
  add(number: number, value: Value): void {
    const place = placeOf(number)
    this.#size++
    if (this.#numbers[place] !== NOBODY) return void this.#others.set(number, value)
    this.#numbers[place] = number
    this.#values[place] = value
  }

  /** It is not there any more. Undefined when it was not. */
  take(number: number): Value | undefined {
    const place = placeOf(number)
    if (this.#numbers[place] !== number) return this.#takeOther(number)
    const value = this.#values[place]
    this.#numbers[place] = NOBODY
    this.#values[place] = undefined
    this.#size--
    return value
  }

  /** All of them, and none is there any more. */
  takeAll(): readonly Value[] {
    const numbers = [...this.#numbers.filter((number) => number !== NOBODY), ...this.#others.keys()].toSorted((a, b) => a - b)
    return numbers.map((number) => this.take(number)!)
  }

  #takeOther(number: number): Value | undefined {
    const value = this.#others.get(number)
    if (this.#others.delete(number)) this.#size--
    return value
  }
}

const placeOf = (number: number): number => number & (PLACES - 1)
