import { messageOf } from './error-message.ts'

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

/** Where in a value, to stand behind what names it; nothing for the whole of it. */
export const atPointer = (path: string): string => path === '' ? '' : ` at "${path}"`

/**
 * Why a value is not JSON that may cross a boundary, or undefined when it is. Contract: never throws, reads each
 * property once, runs in time bounded by `limits`, and looks at own properties only.
 */
export function findJsonFault(value: unknown, limits: JsonLimits = JSON_LIMITS): JsonFault | undefined {
  const walk = new Walk(limits, false)
  try {
    return walk.visit(value, 1)
  } catch (error) {
    // A proxy or an accessor of the other side threw while it was being looked at.
    return walk.fault('kind', `could not be read: ${messageOf(error)}`)
  }
}

class Walk {
  /** The way to what is being looked at. A pointer is made of it only when there is a fault. */
  readonly #keys: (string | number)[] = []
  #nodes = 0
  #chars = 0
  readonly #open = new Set<object>()
  readonly #limits: JsonLimits
  /** Made by JSON.parse: no accessor, hole, class or cycle can be in it, so none is looked for. */
  readonly #parsed: boolean

  constructor(limits: JsonLimits, parsed: boolean) {
    this.#limits = limits
    this.#parsed = parsed
  }

  visit(value: unknown, depth: number): JsonFault | undefined {
    if (++this.#nodes > this.#limits.maxNodes) return this.#tooMany()
    switch (typeof value) {
      case 'string':
        return this.#text(value)
      case 'number':
        return Number.isFinite(value) ? undefined : this.fault('kind', `${value} is not a JSON number`)
      case 'boolean':
        return undefined
      case 'object':
        return value === null ? undefined : this.#container(value, depth)
      default:
        return this.fault('kind', `${value === undefined ? '' : 'a '}${typeof value} is not JSON`)
    }
  }

  fault(code: JsonFault['code'], message: string): JsonFault {
    return { path: this.#keys.map(pointerStep).join(''), code, message }
  }

  #container(value: object, depth: number): JsonFault | undefined {
    if (depth > this.#limits.maxDepth) return this.fault('depth', `is nested more than ${this.#limits.maxDepth} deep`)
    if (this.#parsed) {
      return Array.isArray(value) ? this.#parsedArray(value, depth) : this.#parsedObject(value as JsonObject, depth)
    }
    if (this.#open.has(value)) return this.fault('cycle', 'contains itself')
    this.#open.add(value)
    const fault = Array.isArray(value) ? this.#array(value, depth) : this.#object(value, depth)
    this.#open.delete(value)
    return fault
  }

  #array(value: readonly unknown[], depth: number): JsonFault | undefined {
    // A prototype of its own may carry a toJSON that says something else than what is looked at here.
    if (Object.getPrototypeOf(value) !== Array.prototype) return this.fault('kind', `a ${className(value)} is not JSON`)
    const { length } = value
    if (length > this.#limits.maxNodes) return this.#tooMany()
    for (let index = 0; index < length; index++) {
      this.#keys.push(index)
      const property = Object.getOwnPropertyDescriptor(value, index)
      if (property === undefined) return this.fault('hole', 'is a hole in a sparse array')
      if (!('value' in property)) return this.fault('kind', 'is an accessor, not a value')
      const fault = this.visit(property.value, depth + 1)
      if (fault) return fault
      this.#keys.pop()
    }
    return Reflect.ownKeys(value).length === length + 1 ? undefined : this.fault('kind', 'is an array with named properties')
  }

  #object(value: object, depth: number): JsonFault | undefined {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== null && prototype !== Object.prototype) return this.fault('kind', `a ${className(value)} is not JSON`)
    for (const key of Reflect.ownKeys(value)) {
      if (typeof key === 'symbol') return this.fault('key', 'has a symbol for a key')
      this.#keys.push(key)
      const badKey = this.#key(key)
      if (badKey) return badKey
      const property = Object.getOwnPropertyDescriptor(value, key)
      if (property === undefined || !('value' in property)) return this.fault('kind', 'is an accessor, not a value')
      if (!property.enumerable) return this.fault('kind', 'is hidden')
      const fault = this.visit(property.value, depth + 1)
      if (fault) return fault
      this.#keys.pop()
    }
    return undefined
  }

  #parsedArray(value: readonly unknown[], depth: number): JsonFault | undefined {
    if (value.length > this.#limits.maxNodes) return this.#tooMany()
    for (let index = 0; index < value.length; index++) {
      this.#keys.push(index)
      const fault = this.visit(value[index], depth + 1)
      if (fault) return fault
      this.#keys.pop()
    }
    return undefined
  }

  #parsedObject(value: JsonObject, depth: number): JsonFault | undefined {
    for (const key of Object.keys(value)) {
      this.#keys.push(key)
      const fault = this.#key(key) ?? this.visit(value[key], depth + 1)
      if (fault) return fault
      this.#keys.pop()
    }
    return undefined
  }

  #tooMany(): JsonFault {
    return this.fault('size', `has more than ${this.#limits.maxNodes} values`)
  }

  #key(key: string): JsonFault | undefined {
    return key === '__proto__' ? this.fault('key', 'the key __proto__ is refused') : this.#text(key)
  }

  #text(text: string): JsonFault | undefined {
    this.#chars += text.length
    if (this.#chars > this.#limits.maxChars) return this.fault('size', `has more than ${this.#limits.maxChars} characters`)
    return text.isWellFormed() ? undefined : this.fault('text', 'contains half of a surrogate pair')
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
  const fault = new Walk(limits, true).visit(value, 1)
  return fault ? { ok: false, fault } : { ok: true, value: value as Json }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Key-sorted text without white space: two equal values, one text. What digests are taken over. */
export function canonicalJson(value: Json): string {
  return isSorted(value) ? JSON.stringify(value) : sortedText(value)
}

/** Whether the platform would write the keys of all its objects in order, which it does many times faster. */
function isSorted(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isSorted)
  let before: string | undefined
  for (const key of Object.keys(value)) {
    if (before !== undefined && before >= key) return false
    if (!isSorted((value as JsonObject)[key] as Json)) return false
    before = key
  }
  return true
}

function sortedText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(sortedText).join(',')}]`
  if (isJsonObject(value)) {
    const members = Object.keys(value).toSorted().map((key) => `${JSON.stringify(key)}:${sortedText(value[key] as Json)}`)
    return `{${members.join(',')}}`
  }
  return JSON.stringify(value)
}

function className(value: object): string {
  const { constructor } = value as { constructor?: unknown }
  return typeof constructor === 'function' && constructor.name ? constructor.name.slice(0, 64) : 'value of a class'
}
