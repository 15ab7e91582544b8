import { messageOf } from './bulkhead-error.ts'
import { className, JSON_LIMITS, pointerStep, type Json, type JsonFault, type JsonLimits } from './json.ts'

export type CopiedJson =
  /** `chars`: about what it takes as text; characters that must be escaped count once. */
  | { readonly ok: true; readonly value: Json; readonly chars: number }
  | { readonly ok: false; readonly fault: JsonFault }

/**
 * A copy of a stranger's value that nobody can change, made while it is looked at: what was checked is what was copied. Finds
 * the same faults as `findJsonFault`, under the same contract.
 */
export function copyJson(value: unknown, limits: JsonLimits = JSON_LIMITS): CopiedJson {
  const copy = new Copy(limits)
  try {
    return { ok: true, value: copy.visit(value, 1), chars: copy.chars }
  } catch (thrown) {
    if (thrown instanceof Found) return { ok: false, fault: copy.fault(thrown.code, thrown.message) }
    return { ok: false, fault: copy.fault('kind', `could not be read: ${messageOf(thrown)}`) }
  }
}

/** What ends the copying. Not an Error: nobody reads where it was thrown. */
class Found {
  readonly code: JsonFault['code']
  readonly message: string

  constructor(code: JsonFault['code'], message: string) {
    this.code = code
    this.message = message
  }
}

class Copy {
  chars = 0
  readonly #limits: JsonLimits
  /** The way to what is being looked at. A pointer is made of it only when there is a fault. */
  readonly #keys: (string | number)[] = []
  /** What it stands in, the outermost first. */
  readonly #open: object[] = []
  #nodes = 0
  #textChars = 0

  constructor(limits: JsonLimits) {
    this.#limits = limits
  }

  visit(value: unknown, depth: number): Json {
    if (++this.#nodes > this.#limits.maxNodes) throw this.#tooMany()
    switch (typeof value) {
      case 'string':
        return this.#text(value)
      case 'number':
        return this.#number(value)
      case 'boolean':
        this.chars += value ? 4 : 5
        return value
      case 'object':
        if (value !== null) return this.#container(value, depth)
        this.chars += 4
        return null
      default:
        throw new Found('kind', `a ${typeof value} is not JSON`)
    }
  }

  fault(code: JsonFault['code'], message: string): JsonFault {
    return { path: this.#keys.map(pointerStep).join(''), code, message }
  }

  #number(value: number): number {
    if (!Number.isFinite(value)) throw new Found('kind', `${value} is not a JSON number`)
    this.chars += Number.isSafeInteger(value) && value < 10 && value >= 0 ? 1 : String(value).length
    // As text, a zero has no sign.
    return value === 0 ? 0 : value
  }

  #container(value: object, depth: number): Json {
    if (depth > this.#limits.maxDepth) throw new Found('depth', `is nested more than ${this.#limits.maxDepth} deep`)
    if (this.#open.includes(value)) throw new Found('cycle', 'contains itself')
    this.#open.push(value)
    const copy = Array.isArray(value) ? this.#array(value, depth) : this.#object(value, depth)
    this.#open.pop()
    return Object.freeze(copy)
  }

  #array(value: readonly unknown[], depth: number): Json {
    // A prototype of its own may carry a toJSON that says something else than what is looked at here.
    if (Object.getPrototypeOf(value) !== Array.prototype) throw new Found('kind', `a ${className(value)} is not JSON`)
    const { length } = value
    if (length > this.#limits.maxNodes) throw this.#tooMany()
    this.chars += 1 + Math.max(1, length)
    const copy: Json[] = []
    for (let index = 0; index < length; index++) {
      this.#keys.push(index)
      const property = Object.getOwnPropertyDescriptor(value, index)
      if (property === undefined) throw new Found('hole', 'is a hole in a sparse array')
      if (!('value' in property)) throw new Found('kind', 'is an accessor, not a value')
      copy.push(this.visit(property.value, depth + 1))
      this.#keys.pop()
    }
    if (Reflect.ownKeys(value).length !== length + 1) throw new Found('kind', 'is an array with named properties')
    return copy
  }

  #object(value: object, depth: number): Json {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== null && prototype !== Object.prototype) throw new Found('kind', `a ${className(value)} is not JSON`)
    const copy: Record<string, Json> = {}
    const keys = Reflect.ownKeys(value)
    this.chars += 1 + Math.max(1, keys.length)
    for (const key of keys) {
      if (typeof key === 'symbol') throw new Found('key', 'has a symbol for a key')
      this.#keys.push(key)
      if (key === '__proto__') throw new Found('key', 'the key __proto__ is refused')
      this.#text(key)
      this.chars++
      const property = Object.getOwnPropertyDescriptor(value, key)
      if (property === undefined || !('value' in property)) throw new Found('kind', 'is an accessor, not a value')
      if (!property.enumerable) throw new Found('kind', 'is hidden')
      copy[key] = this.visit(property.value, depth + 1)
      this.#keys.pop()
    }
    return copy
  }

  #text(text: string): string {
    this.chars += text.length + 2
    this.#textChars += text.length
    if (this.#textChars > this.#limits.maxChars) throw new Found('size', `has more than ${this.#limits.maxChars} characters`)
    if (!text.isWellFormed()) throw new Found('text', 'contains half of a surrogate pair')
    return text
  }

  #tooMany(): Found {
    return new Found('size', `has more than ${this.#limits.maxNodes} values`)
  }
}
