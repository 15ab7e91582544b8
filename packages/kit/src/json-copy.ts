import { findJsonFault, JSON_LIMITS, type Json, type JsonFault, type JsonLimits } from './json.ts'

export type CopiedJson =
  /** `chars`: the approximate length as JSON. Escaped characters count once. */
  | { readonly ok: true; readonly value: Json; readonly chars: number }
  | { readonly ok: false; readonly fault: JsonFault }

/**
 * A frozen copy of an untrusted value. Checks and copies in one pass, so that what was checked is what was copied.
 * Rejects what `findJsonFault` rejects, under the same contract.
 */
export function copyJson(value: unknown, limits: JsonLimits = JSON_LIMITS): CopiedJson {
  const copy = new Copy(limits)
  try {
    return { ok: true, value: copy.visit(value, 1), chars: copy.chars }
  } catch {
    return { ok: false, fault: findJsonFault(value, limits) ?? UNSTABLE }
  }
}

const UNSTABLE: JsonFault = { path: '', code: 'kind', message: 'changes each time it is read' }
const REFUSED = 'is not JSON within the limits'

/** Contract: throws for what it must not copy. The depth limit ends cycles. */
class Copy {
  chars = 0
  #nodes = 0
  #textChars = 0
  readonly #limits: JsonLimits

  constructor(limits: JsonLimits) {
    this.#limits = limits
  }

  visit(value: unknown, depth: number): Json {
    if (++this.#nodes > this.#limits.maxNodes) throw REFUSED
    switch (typeof value) {
      case 'string':
        return this.#text(value)
      case 'number':
        if (!Number.isFinite(value)) throw REFUSED
        this.chars += String(value).length
        // As text, a zero has no sign.
        return value === 0 ? 0 : value
      case 'boolean':
        this.chars += value ? 4 : 5
        return value
      case 'object':
        if (value !== null) return this.#container(value, depth)
        this.chars += 4
        return null
      default:
        throw REFUSED
    }
  }

  #container(value: object, depth: number): Json {
    if (depth > this.#limits.maxDepth) throw REFUSED
    return Object.freeze(Array.isArray(value) ? this.#array(value, depth) : this.#object(value, depth))
  }

  #array(value: readonly unknown[], depth: number): Json {
    const { length } = value
    if (Object.getPrototypeOf(value) !== Array.prototype) throw REFUSED
    this.chars += 1 + Math.max(1, length)
    const copy: Json[] = []
    for (let index = 0; index < length; index++) copy.push(this.visit(ownValue(value, index), depth + 1))
    if (Reflect.ownKeys(value).length !== length + 1) throw REFUSED
    return copy
  }

  #object(value: object, depth: number): Json {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== null && prototype !== Object.prototype) throw REFUSED
    const copy: Record<string, Json> = {}
    const keys = Object.getOwnPropertyNames(value)
    if (Object.getOwnPropertySymbols(value).length > 0) throw REFUSED
    this.chars += 1 + Math.max(1, keys.length)
    for (const key of keys) {
      if (key === '__proto__') throw REFUSED
      this.#text(key)
      this.chars++
      copy[key] = this.visit(ownValue(value, key), depth + 1)
    }
    return copy
  }

  #text(text: string): string {
    this.chars += text.length + 2
    this.#textChars += text.length
    if (this.#textChars > this.#limits.maxChars || !text.isWellFormed()) throw REFUSED
    return text
  }
}

/** Contract: runs no accessor. */
function ownValue(of: object, key: string | number): unknown {
  const property = Object.getOwnPropertyDescriptor(of, key)
  if (property === undefined || !('value' in property) || !(property.enumerable || Array.isArray(of))) throw REFUSED
  return property.value
}

/** Freezes plain data with everything in it. Returns the same object. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const key in value) deepFreeze(value[key])
  return value
}
