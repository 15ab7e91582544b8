import { Buffer } from 'node:buffer'

/** Node's module. Only our own objects, fresh bytes, strings and numbers are passed to it. */
export type Native = typeof import('node:crypto')

type Encoding = BufferEncoding | 'buffer' | null | undefined
const Views = Object.getPrototypeOf(Uint8Array.prototype) as object
const getter = (of: object, name: string): ((this: unknown) => unknown) =>
  Object.getOwnPropertyDescriptor(of, name)!.get as (this: unknown) => unknown
const GETTERS = [Views, DataView.prototype].map((of) =>
  ({ buffer: getter(of, 'buffer'), start: getter(of, 'byteOffset'), length: getter(of, 'byteLength') }))

/** The real bytes of a view or buffer, whatever own properties it has; undefined for other values. */
export function sameBytes(given: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (given instanceof ArrayBuffer) return new Uint8Array(given)
  if (!ArrayBuffer.isView(given)) return undefined
  const { buffer, start, length } = GETTERS[given instanceof DataView ? 1 : 0]!
  return new Uint8Array(
    Reflect.apply(buffer, given, []) as ArrayBuffer, Reflect.apply(start, given, []) as number,
    Reflect.apply(length, given, []) as number,
  )
}

export function copyOf(given: unknown): Buffer | undefined {
  const bytes = sameBytes(given)
  return bytes && Buffer.from(new Uint8Array(bytes).buffer)
}

/** The bytes of an argument. Strings are decoded by the encoding. */
export function bytesOf(what: string, given: unknown, encoding?: Encoding): Buffer {
  if (typeof given === 'string') {
    return Buffer.from(given, encoding === undefined || encoding === null || encoding === 'buffer' ? 'utf8' : encoding)
  }
  const bytes = copyOf(given)
  if (bytes === undefined) throw wrongType(what, 'a string, a Buffer, a typed array, a DataView or an ArrayBuffer')
  return bytes
}

/** A result as the caller wants it, in memory that no other buffer shares. */
export function result(bytes: Uint8Array, encoding?: Encoding): Buffer | string {
  const own = Buffer.from(new Uint8Array(bytes).buffer)
  return encoding === undefined || encoding === null || encoding === 'buffer' ? own : own.toString(encoding)
}

/** Contract: throws RangeError unless it is an integer in that range. */
export function integer(what: string, given: unknown, least: number, most: number): number {
  if (typeof given !== 'number' || !Number.isInteger(given)) throw wrongType(what, 'an integer')
  if (given < least || given > most) {
    throw Object.assign(
      new RangeError(`${what} is ${given}. In a compartment it must be from ${least} to ${most}.`),
      { code: 'ERR_OUT_OF_RANGE' },
    )
  }
  return given
}

export function text(what: string, given: unknown): string {
  if (typeof given === 'string') return given
  throw wrongType(what, 'a string')
}

export const optional = <Value>(given: unknown, read: (given: unknown) => Value): Value | undefined =>
  given === undefined || given === null ? undefined : read(given)

export const wrongType = (what: string, expected: string): TypeError =>
  Object.assign(new TypeError(`${what} must be ${expected}.`), { code: 'ERR_INVALID_ARG_TYPE' })

/** The fields of an options object, each read once. */
export function fields<Name extends string>(given: unknown, names: readonly Name[]): Partial<Record<Name, unknown>> {
  if (given === undefined || given === null) return {}
  if (typeof given !== 'object') throw wrongType('The options', 'an object')
  return Object.fromEntries(names.map((name) => [name, (given as Record<string, unknown>)[name]])) as
    Partial<Record<Name, unknown>>
}

type Callback = (error: unknown, ...values: unknown[]) => void

/**
 * The form with a callback of work that takes a while. It runs in this thread, and not in the thread pool, which a host
 * shares with its threads.
 */
export function later(what: string, callback: unknown, work: () => readonly unknown[]): void {
  if (typeof callback !== 'function') throw wrongType(`The callback of ${what}`, 'a function')
  setImmediate(() => {
    let values: readonly unknown[]
    try {
      values = work()
    } catch (error) {
      return void (callback as Callback)(error)
    }
    ;(callback as Callback)(null, ...values)
  })
}
