import { Buffer } from 'node:buffer'
import { types } from 'node:util'

/** Captured before extension code runs, which could replace them. */
const { apply } = Reflect
const { getOwnPropertyDescriptor, getPrototypeOf } = Object
const { isView } = ArrayBuffer
const { isDataView, isFloat16Array, isFloat32Array, isFloat64Array, isTypedArray } = types
const Bytes = Uint8Array

interface Getters {
  readonly buffer: () => unknown
  readonly start: () => unknown
  readonly length: () => unknown
}
const OF_ARRAY = gettersOf(getPrototypeOf(Uint8Array.prototype) as object)
const OF_DATA_VIEW = gettersOf(DataView.prototype)

function gettersOf(prototype: object): Getters {
  const getter = (name: string): () => unknown => getOwnPropertyDescriptor(prototype, name)!.get!
  return { buffer: getter('buffer'), start: getter('byteOffset'), length: getter('byteLength') }
}

/** The real bytes of a view, whatever own properties it has. Contract: throws when it is not a view. */
function sameBytes(view: ArrayBufferView): Uint8Array<ArrayBuffer> {
  const { buffer, start, length } = isDataView(view) ? OF_DATA_VIEW : OF_ARRAY
  return new Bytes(apply(buffer, view, []) as ArrayBuffer, apply(start, view, []) as number, apply(length, view, []) as number)
}

type Search = (...args: unknown[]) => unknown

/**
 * Replacements for the searches of buffers. Node passes the offset and length of a buffer to native code unchecked, and a value that
 * is not a number aborts the process: the host's, for a thread.
 */
export const SEARCHES: Readonly<Record<string, Search>> = {
  indexOf: checked(Buffer.prototype.indexOf as Search),
  lastIndexOf: checked(Buffer.prototype.lastIndexOf as Search),
  includes: checked(Buffer.prototype.includes as Search),
}

function checked(search: Search): Search {
  return function searchBytes(this: unknown, value: unknown, offset: unknown, end: unknown, encoding: unknown) {
    // Node throws the right error for a receiver that is not a buffer.
    if (!isView(this)) return apply(search, this, [value])
    const isNumber = end !== undefined && typeof end !== 'string'
    return apply(search, sameBytes(this), [value, offset, isNumber ? +(end as number) : end, encoding])
  }
}

/**
 * The part of `crypto` that a compartment has. Node reads the length of the array, which can be an own property, and a value that is not
 * a number aborts the process. So Node gets another view of the same bytes.
 */
export function randomness(source: () => Crypto): Pick<Crypto, 'getRandomValues' | 'randomUUID'> {
  return Object.freeze({
    randomUUID: () => source().randomUUID(),
    getRandomValues<Values extends Parameters<Crypto['getRandomValues']>[0]>(array: Values): Values {
      // Node throws the right error for anything but an array of integers.
      if (!isTypedArray(array) || isFloating(array)) source().getRandomValues(array)
      else source().getRandomValues(sameBytes(array))
      return array
    },
  })
}

const isFloating = (array: unknown): boolean => isFloat16Array(array) || isFloat32Array(array) || isFloat64Array(array)
