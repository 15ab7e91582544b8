import { messageOf } from './bulkhead-error.ts'

/** A value that survives JSON unchanged. Everything that crosses a boundary of Bulkhead is one of these. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

export interface JsonLimits {
  /** Containers inside containers, the outermost being 1. */
  readonly maxDepth: number
  /** Values of any kind, keys not counted. A graph shared many times counts as often as it would be written out. */
  readonly maxNodes: number
  /** UTF-16 units of all strings and keys together. */
  readonly maxChars: number
}

export const JSON_LIMITS: JsonLimits = { maxDepth: 64, maxNodes: 250_000, maxChars: 16 * 1024 * 1024 }

export interface JsonFault {
  /** JSON Pointer to the offending value. */
  readonly path: string
  readonly code: 'depth' | 'size' | 'key' | 'cycle' | 'text' | 'kind' | 'hole'
  readonly message: string
}

export const pointerStep = (key: string | number): string => '/' + String(key).replaceAll('~', '~0').replaceAll('/', '~1')

/**
 * Why a value is not JSON that may cross a boundary, or undefined when it is. Contract: never throws, reads each
 * property once, runs in time bounded by `limits`, and looks at own properties only.
 */
export function findJsonFault(value: unknown, limits: JsonLimits = JSON_LIMITS): JsonFault | undefined {
  const walk = new Walk(limits)
  try {
    return walk.visit(value, '', 1)
  } catch (error) {
    // A proxy or an accessor of the other side threw while it was being looked at.
    return { path: walk.at, code: 'kind', message: `could not be read: ${messageOf(error)}` }
  }
}

class Walk {
  at = ''
  #nodes = 0
  #chars = 0
  readonly #open = new Set<object>()
  readonly #limits: JsonLimits

  constructor(limits: JsonLimits) {
    this.#limits = limits
  }

  visit(value: unknown, path: string, depth: number): JsonFault | undefined {
    this.at = path
    if (++this.#nodes > this.#limits.maxNodes) return this.#fault('size', `has more than ${this.#limits.maxNodes} values`)
    switch (typeof value) {
      case 'string':
        return this.#text(value)
      case 'number':
        return Number.isFinite(value) ? undefined : this.#fault('kind', `${value} is not a JSON number`)
      case 'boolean':
        return undefined
      case 'object':
        return value === null ? undefined : this.#container(value, path, depth)
      default:
        return this.#fault('kind', `a ${typeof value} is not JSON`)
    }
  }

  #container(value: object, path: string, depth: number): JsonFault | undefined {
    if (depth > this.#limits.maxDepth) return this.#fault('depth', `is nested more than ${this.#limits.maxDepth} deep`)
    if (this.#open.has(value)) return this.#fault('cycle', 'contains itself')
    this.#open.add(value)
    const fault = Array.isArray(value) ? this.#array(value, path, depth) : this.#object(value, path, depth)
    this.#open.delete(value)
    return fault
  }

  #array(value: readonly unknown[], path: string, depth: number): JsonFault | undefined {
    // A prototype of its own may carry a toJSON that says something else than what is looked at here.
    if (Object.getPrototypeOf(value) !== Array.prototype) return this.#fault('kind', `a ${className(value)} is not JSON`)
    const { length } = value
    if (length > this.#limits.maxNodes) return this.#fault('size', `has more than ${this.#limits.maxNodes} values`)
    for (let index = 0; index < length; index++) {
      this.at = path + '/' + index
      const property = Object.getOwnPropertyDescriptor(value, index)
      if (property === undefined) return this.#fault('hole', 'is a hole in a sparse array')
      if (!('value' in property)) return this.#fault('kind', 'is an accessor, not a value')
      const fault = this.visit(property.value, path + '/' + index, depth + 1)
      if (fault) return fault
    }
    this.at = path
    return Reflect.ownKeys(value).length === length + 1 ? undefined : this.#fault('kind', 'is an array with named properties')
  }

  #object(value: object, path: string, depth: number): JsonFault | undefined {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== null && prototype !== Object.prototype) return this.#fault('kind', `a ${className(value)} is not JSON`)
    for (const key of Reflect.ownKeys(value)) {
      this.at = path
      if (typeof key === 'symbol') return this.#fault('key', 'has a symbol for a key')
      this.at = path + pointerStep(key)
      if (key === '__proto__') return this.#fault('key', 'the key __proto__ is refused')
      const badKey = this.#text(key)
      if (badKey) return badKey
      const property = Object.getOwnPropertyDescriptor(value, key)
      if (property === undefined || !('value' in property)) return this.#fault('kind', 'is an accessor, not a value')
      if (!property.enumerable) return this.#fault('kind', 'is hidden')
      const fault = this.visit(property.value, this.at, depth + 1)
      if (fault) return fault
    }
    return undefined
  }

  #text(text: string): JsonFault | undefined {
    this.#chars += text.length
    if (this.#chars > this.#limits.maxChars) return this.#fault('size', `has more than ${this.#limits.maxChars} characters`)
    return text.isWellFormed() ? undefined : this.#fault('text', 'contains half of a surrogate pair')
  }

  #fault(code: JsonFault['code'], message: string): JsonFault {
    return { path: this.at, code, message }
  }
}

export type ParsedJson = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly fault: JsonFault }

/** Parses text from a stranger under limits. Contract: never throws. */
export function parseJson(text: string, limits: JsonLimits = JSON_LIMITS): ParsedJson {
  if (text.length > limits.maxChars) {
    return { ok: false, fault: { path: '', code: 'size', message: `is longer than ${limits.maxChars} characters` } }
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { ok: false, fault: { path: '', code: 'kind', message: `is not JSON: ${messageOf(error)}` } }
  }
  const fault = findJsonFault(value, limits)
  return fault ? { ok: false, fault } : { ok: true, value: value as Json }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Key-sorted text without white space: two equal values, one text. What digests are taken over. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (isJsonObject(value)) {
    const members = Object.keys(value).toSorted().map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] as Json)}`)
    return `{${members.join(',')}}`
  }
  return JSON.stringify(value)
}

function className(value: object): string {
  const { constructor } = value as { constructor?: unknown }
  return typeof constructor === 'function' && constructor.name ? constructor.name.slice(0, 64) : 'value of a class'
}
