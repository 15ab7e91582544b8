import { messageOf } from './error-message.ts'

/** A value that survives JSON unchanged. Only such values cross a boundary of Bulkhead. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

export interface JsonLimits {
  /** Nesting depth. The outermost container is 1. */
  readonly maxDepth: number
  /** Number of values, without keys. A shared object counts each time it would be written. */
  readonly maxNodes: number
  /** UTF-16 units of all strings and keys. */
  readonly maxChars: number
}

export const JSON_LIMITS: JsonLimits = { maxDepth: 64, maxNodes: 250_000, maxChars: 16 * 1024 * 1024 }

export interface JsonFault {
  /** JSON Pointer to the invalid value. */
  readonly path: string
  readonly code: 'depth' | 'size' | 'key' | 'cycle' | 'text' | 'kind' | 'hole'
  readonly message: string
}

export const pointerStep = (key: string | number): string =>
  '/' + String(key).replaceAll('~', '~0').replaceAll('/', '~1')

/** The key that a step of a JSON Pointer names, without its slash. */
export const pointerKey = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~')

/** The value that a JSON Pointer leads to. Reads own members only. */
export function valueAt(root: Json, pointer: string): Json | undefined {
  let target: Json | undefined = root
  for (const step of pointer.split('/').slice(1)) {
    const key = pointerKey(step)
    if (isJsonObject(target) && Object.hasOwn(target, key)) target = target[key]
    else if (Array.isArray(target) && /^(?:0|[1-9]\d*)$/.test(key)) target = (target as readonly Json[])[Number(key)]
    else return undefined
  }
  return target
}

/** The value that a reference inside a document leads to. undefined for another reference, and for a wrong one. */
export function targetOf(root: Json, reference: string): Json | undefined {
  if (!/^#(?:\/|$)/.test(reference)) return undefined
  let pointer: string
  try {
    // An escaped slash is part of a name.
    pointer = decodeURIComponent(reference.slice(1).replaceAll(/%2f/gi, '~1'))
  } catch {
    return undefined
  }
  return valueAt(root, pointer)
}

/** A suffix for a message that names a value. Empty for the whole value. */
export const atPointer = (path: string): string => path === '' ? '' : ` at "${path}"`

/**
 * Why a value is not acceptable JSON, or undefined. Contract: never throws, reads each property once, takes time
 * bounded by `limits`, and reads own properties only.
 */
export function findJsonFault(value: unknown, limits: JsonLimits = JSON_LIMITS): JsonFault | undefined {
  const walk = new Walk(limits, false)
  try {
    return walk.visit(value, 1)
  } catch (error) {
    // A foreign proxy or accessor threw.
    return walk.fault('kind', `could not be read: ${messageOf(error)}`)
  }
}

class Walk {
  /** The path to the current value. It becomes a pointer only for a fault. */
  readonly #keys: (string | number)[] = []
  #nodes = 0
  #chars = 0
  readonly #open = new Set<object>()
  readonly #limits: JsonLimits
  /** Whether JSON.parse made the value, which rules out accessors, holes, classes and cycles. */
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
    // Another prototype may have a toJSON that returns something else.
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
    if (Reflect.ownKeys(value).length === length + 1) return undefined
    return this.fault('kind', 'is an array with named properties')
  }

  #object(value: object, depth: number): JsonFault | undefined {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== null && prototype !== Object.prototype) {
      return this.fault('kind', `a ${className(value)} is not JSON`)
    }
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
    const { maxChars } = this.#limits
    if (this.#chars > maxChars) return this.fault('size', `has more than ${maxChars} characters`)
    return text.isWellFormed() ? undefined : this.fault('text', 'contains half of a surrogate pair')
  }
}

export type ParsedJson = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly fault: JsonFault }

/** Parses untrusted text under limits. Contract: never throws. */
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

/** A record whose members are JSON. The types of interfaces do not say so. */
export const asJson = (record: object): JsonObject => record as JsonObject

/** JSON with sorted keys and without white space: equal values give equal text. Digests use it. */
export function canonicalJson(value: Json): string {
  return isSorted(value) ? JSON.stringify(value) : sortedText(value)
}

/** Whether all keys are already sorted. Then JSON.stringify gives the same text many times faster. */
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
  if (!isJsonObject(value)) return JSON.stringify(value)
  let text = ''
  for (const key of Object.keys(value).toSorted()) {
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${sortedText(value[key] as Json)}`
  }
  return `{${text}}`
}

function className(value: object): string {
  const { constructor } = value as { constructor?: unknown }
  return typeof constructor === 'function' && constructor.name ? constructor.name.slice(0, 64) : 'value of a class'
}
