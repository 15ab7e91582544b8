import { Buffer } from 'node:buffer'
import { StringDecoder as NodeStringDecoder } from 'node:string_decoder'
import { TextDecoder as NodeTextDecoder, types } from 'node:util'

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
  return new Bytes(
    apply(buffer, view, []) as ArrayBuffer, apply(start, view, []) as number, apply(length, view, []) as number,
  )
}

type Search = (...args: unknown[]) => unknown

/**
 * Replacements for the searches of buffers. Node passes the offset and length of a buffer to native code unchecked, and
 * a value that is not a number aborts the process: the host's, for a thread.
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
 * The part of `crypto` that a compartment has. Node reads the length of the array, which can be an own property, and a
 * value that is not a number aborts the process. So Node gets another view of the same bytes.
 */
export function randomness(
  source: () => Crypto, subtle: () => unknown = () => undefined,
): Pick<Crypto, 'getRandomValues' | 'randomUUID'> & { readonly subtle: unknown } {
  return Object.freeze({
    get subtle() {
      return subtle()
    },
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

/**
 * Replacements for Node's decoders, which keep their state in reachable properties and pass it to native code
 * unchecked: changed state makes it read foreign memory or abort the process. These keep Node's decoder private.
 */
export class StringDecoder {
  readonly encoding: string
  readonly #decoder: NodeStringDecoder

  constructor(encoding?: BufferEncoding) {
    this.#decoder = new NodeStringDecoder(encoding)
    this.encoding = (this.#decoder as unknown as { readonly encoding: string }).encoding
  }

  write(bytes: string | NodeJS.ArrayBufferView): string {
    return this.#decoder.write(bytes as never)
  }

  end(bytes?: string | NodeJS.ArrayBufferView): string {
    return this.#decoder.end(bytes as never)
  }
}

export class TextDecoder {
  readonly #decoder: NodeTextDecoder

  constructor(...given: ConstructorParameters<typeof NodeTextDecoder>) {
    this.#decoder = new NodeTextDecoder(...given)
  }

  get encoding(): string {
    return this.#decoder.encoding
  }

  get fatal(): boolean {
    return this.#decoder.fatal
  }

  get ignoreBOM(): boolean {
    return this.#decoder.ignoreBOM
  }

  decode(...given: Parameters<NodeTextDecoder['decode']>): string {
    return this.#decoder.decode(...given)
  }

  get [Symbol.toStringTag](): string {
    return 'TextDecoder'
  }
}

/** The part of `node:v8` that is used. */
export type Serdes = Pick<typeof import('node:v8'), 'Serializer' | 'Deserializer'>
type Clone = (value: unknown, options?: { readonly transfer?: readonly unknown[] }) => unknown

/**
 * A `structuredClone` for values of the language only. Node's own also clones Node's objects and rebuilds any internal
 * class they name: code could make an object that names a file by a descriptor of the process. V8 alone knows no such
 * class.
 */
export function dataClone(serdes: () => Serdes): Clone {
  return (value, options) => {
    const moved = [...options?.transfer ?? []]
    if (!moved.every((one) => types.isArrayBuffer(one))) throw cannot('Only an ArrayBuffer can be transferred here.')
    const { Serializer, Deserializer } = serdes()
    const serializer = new Serializer()
    serializer.writeHeader()
    try {
      serializer.writeValue(value)
    } catch (error) {
      // V8 throws a plain Error; other errors come from accessors.
      const isOfV8 = types.isNativeError(error) && Object.getPrototypeOf(error) === Error.prototype
      throw isOfV8 ? cannot(error.message) : error
    }
    const deserializer = new Deserializer(serializer.releaseBuffer())
    deserializer.readHeader()
    const copy: unknown = deserializer.readValue()
    for (const buffer of moved) transfer.call(buffer)
    return copy
  }
}

const { transfer } = ArrayBuffer.prototype

const cannot = (why: string): DOMException => new DOMException(why, 'DataCloneError')
