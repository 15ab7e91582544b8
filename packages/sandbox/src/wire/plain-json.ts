import { Buffer } from 'node:buffer'
import type { Json } from '@bulkhead/contract'

export interface PlainLimits {
  readonly maxDepth: number
  readonly maxNodes: number
  /** Of the JSON text, but for the escapes in it. */
  readonly maxBytes: number
}

/** What a value costs in JSON beside its own text: quotes and a comma, brackets, a short number. */
const NODE_BYTES = 3

export type Plain =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly fault: 'malformed' | 'too large'; readonly message: string }

/**
 * What code of an extension gave away, as a copy that is JSON and nothing else. As in JSON.stringify, properties that are
 * undefined are left out and `toJSON` is honoured; unlike there, whatever else JSON cannot say is refused instead of being
 * lost. Contract: never throws.
 */
export function toPlainJson(value: unknown, limits: PlainLimits): Plain {
  const copy = new Copy(limits)
  try {
    return { ok: true, value: copy.of(value ?? null, '', 1) }
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, fault: error.fault, message: error.message }
    return { ok: false, fault: 'malformed', message: `The value at "${copy.at}" could not be read.` }
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
  at = ''
  #nodes = 0
  #bytes = 0
  readonly #limits: PlainLimits
  readonly #open = new Set<object>()

  constructor(limits: PlainLimits) {
    this.#limits = limits
  }

  of(value: unknown, path: string, depth: number): Json {
    this.at = path
    if (++this.#nodes > this.#limits.maxNodes) throw this.#tooLarge(`has more than ${this.#limits.maxNodes} values`)
    this.#spend(NODE_BYTES)
    switch (typeof value) {
      case 'string':
        return this.#text(value)
      case 'boolean':
        return value
      case 'number':
        if (!Number.isFinite(value)) throw this.#malformed(`is ${value}`)
        return value
      case 'object':
        return value === null ? null : this.#container(value, path, depth)
      default:
        throw this.#malformed(`is a ${typeof value}`)
    }
  }

  #container(value: object, path: string, depth: number): Json {
    if (depth > this.#limits.maxDepth) throw this.#tooLarge(`is nested more than ${this.#limits.maxDepth} deep`)
    if (this.#open.has(value)) throw this.#malformed('contains itself')
    const { toJSON } = value as { readonly toJSON?: unknown }
    this.#open.add(value)
    const copy = typeof toJSON === 'function' ? this.of(toJSON.call(value), path, depth + 1)
      : Array.isArray(value) ? this.#array(value, path, depth) : this.#object(value, path, depth)
    this.#open.delete(value)
    return copy
  }

  #array(value: readonly unknown[], path: string, depth: number): Json {
    if (value.length > this.#limits.maxNodes) throw this.#tooLarge(`has more than ${this.#limits.maxNodes} values`)
    return Array.from({ length: value.length }, (_, index) => this.of(value[index] ?? null, `${path}/${index}`, depth + 1))
  }

  #object(value: object, path: string, depth: number): Json {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== null && prototype !== Object.prototype) throw this.#malformed('is an instance of a class, not plain data')
    const entries: [string, Json][] = []
    for (const [key, member] of Object.entries(value)) {
      this.at = path
      if (key === '__proto__') throw this.#malformed('has the key __proto__')
      if (member !== undefined) entries.push([this.#text(key), this.of(member, `${path}/${key}`, depth + 1)])
    }
    return Object.fromEntries(entries)
  }

  #text(value: string): string {
    this.#spend(Buffer.byteLength(value))
    return value.toWellFormed()
  }

  #spend(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > this.#limits.maxBytes) throw this.#tooLarge(`brings the whole above ${this.#limits.maxBytes} bytes`)
  }

  #malformed(what: string): Refusal {
    return new Refusal('malformed', `The value at "${this.at}" ${what}; only plain JSON data crosses the boundary.`)
  }

  #tooLarge(what: string): Refusal {
    return new Refusal('too large', `The value at "${this.at}" ${what}.`)
  }
}
