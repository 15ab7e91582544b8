import { Buffer } from 'node:buffer'
import type { Json } from '@bulkhead/kit/json'

export interface PlainLimits {
  readonly maxDepth: number
  readonly maxNodes: number
  /** Size of the JSON, without escapes. */
  readonly maxBytes: number
}

/** Overhead of a value in JSON: quotes and a comma, brackets, a short number. */
const NODE_BYTES = 3
const MAX_BYTES_PER_CHAR = 3

export type Plain =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly fault: 'malformed' | 'too large'; readonly message: string }

/**
 * Copies a value of an extension as plain JSON. As with JSON.stringify, undefined properties are left out and `toJSON`
 * is called; unlike there, everything else that JSON cannot express is refused. Contract: never throws.
 */
export function toPlainJson(value: unknown, limits: PlainLimits): Plain {
  const copy = new Copy(limits)
  try {
    return { ok: true, value: copy.whole(value) }
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, fault: error.fault, message: error.message }
    return { ok: false, fault: 'malformed', message: `${copy.place} could not be read.` }
  }
}

class Refusal extends Error {
  readonly fault: 'malformed' | 'too large'

  constructor(fault: Refusal['fault'], message: string) {
    super(message)
    this.fault = fault
  }
}

class Copy {
  readonly #limits: PlainLimits
  /** The path to the current value, and the containers on it. */
  readonly #keys: (string | number)[] = []
  readonly #open: object[] = []
  #nodes = 0
  #chars = 0

  constructor(limits: PlainLimits) {
    this.#limits = limits
  }

  get place(): string {
    return placeOf(this.#keys)
  }

  whole(value: unknown): Json {
    const copy = this.#of(value ?? null)
    const { maxBytes } = this.#limits
    // Counted only when it can matter: counting takes longer than copying.
    const nodeBytes = this.#nodes * NODE_BYTES
    if (nodeBytes + this.#chars * MAX_BYTES_PER_CHAR > maxBytes && nodeBytes + textBytes(copy) > maxBytes) {
      throw this.#tooLarge(`is larger than ${maxBytes} bytes`)
    }
    return copy
  }

  #of(value: unknown): Json {
    if (++this.#nodes > this.#limits.maxNodes) throw this.#tooLarge(`has more than ${this.#limits.maxNodes} values`)
    switch (typeof value) {
      case 'string':
        return this.#text(value)
      case 'boolean':
        return value
      case 'number':
        if (!Number.isFinite(value)) throw this.#malformed(`is ${value}`)
        return value
      case 'object':
        return value === null ? null : this.#container(value)
      default:
        throw this.#malformed(`is a ${typeof value}`)
    }
  }

  #container(value: object): Json {
    if (this.#open.length >= this.#limits.maxDepth) throw this.#tooDeep()
    this.#open.push(value)
    const { toJSON } = value as { readonly toJSON?: unknown }
    const copy = typeof toJSON === 'function' ? this.#of(toJSON.call(value))
      : Array.isArray(value) ? this.#array(value) : this.#object(value)
    this.#open.pop()
    return copy
  }

  #array(value: readonly unknown[]): Json {
    if (value.length > this.#limits.maxNodes) throw this.#tooLarge(`has more than ${this.#limits.maxNodes} values`)
    const copy: Json[] = []
    for (let index = 0; index < value.length; index++) {
      this.#keys.push(index)
      copy.push(this.#of(value[index] ?? null))
      this.#keys.pop()
    }
    return copy
  }

  #object(value: object): Json {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== null && prototype !== Object.prototype) {
      throw this.#malformed('is an instance of a class, not plain data')
    }
    const copy: Record<string, Json> = {}
    for (const key of Object.keys(value)) {
      if (key === '__proto__') throw this.#malformed('has the key __proto__')
      this.#keys.push(key)
      const member = (value as Readonly<Record<string, unknown>>)[key]
      if (member !== undefined) copy[this.#text(key)] = this.#of(member)
      this.#keys.pop()
    }
    return copy
  }

  #text(value: string): string {
    this.#chars += value.length
    if (this.#chars > this.#limits.maxBytes) {
      throw this.#tooLarge(`brings the whole above ${this.#limits.maxBytes} bytes`)
    }
    return value.toWellFormed()
  }

  /** A cycle shows as endless depth. */
  #tooDeep(): Refusal {
    for (const [depth, container] of this.#open.entries()) {
      const first = this.#open.indexOf(container)
      if (first === depth) continue
      this.#keys.length = depth
      return this.#malformed('contains itself')
    }
    return this.#tooLarge(`is nested more than ${this.#limits.maxDepth} deep`)
  }

  #malformed(what: string): Refusal {
    return new Refusal('malformed', `${this.place} ${what}; only plain JSON data crosses the boundary.`)
  }

  #tooLarge(what: string): Refusal {
    return new Refusal('too large', `${this.place} ${what}.`)
  }
}

const placeOf = (keys: readonly (string | number)[]): string =>
  keys.length === 0 ? 'The value itself' : `The value at "${keys.map((key) => `/${key}`).join('')}"`

function textBytes(value: Json): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce((sum: number, member: Json) => sum + textBytes(member), 0)
  return Object.entries(value).reduce((sum, [key, member]) => sum + Buffer.byteLength(key) + textBytes(member), 0)
}
