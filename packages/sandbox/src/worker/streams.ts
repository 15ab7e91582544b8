import { freezeParts } from './freeze.ts'
import { withoutBytes } from './readable-stream.ts'

/** Taken now: what runs later in this thread may have put something else in its place. */
const { defineProperty, getOwnPropertySymbols } = Object
const { deleteProperty } = Reflect

/**
 * Streams in memory. Those that compress run in a pool shared with others, and those of bytes hand what anyone can change to
 * native code: neither is here.
 */
export const STREAMS = [
  'ReadableStream', 'ReadableStreamDefaultReader', 'ReadableStreamDefaultController', 'WritableStream',
  'WritableStreamDefaultController', 'WritableStreamDefaultWriter', 'TransformStream', 'TransformStreamDefaultController',
  'ByteLengthQueuingStrategy', 'CountQueuingStrategy', 'TextEncoderStream', 'TextDecoderStream',
] as const

/** The part of `node:stream/web` that is needed. */
export type Streams = Pick<typeof import('node:stream/web'), (typeof STREAMS)[number]>

/**
 * The globals of streams, made when one of them is first looked at: to load them takes longer than the whole of lockdown, and
 * few extensions need them. Whoever looks gets none that is not locked down; where that fails, it is an error each time.
 */
export function lateStreams(load: () => Streams): void {
  let locked: Streams | undefined
  const streams = (): Streams => {
    locked ??= lockedStreams(load())
    return locked
  }
  for (const name of STREAMS) {
    const define = (value: unknown): void => {
      defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false })
    }
    // First, because to redefine it would be to look at it, which loads it.
    deleteProperty(globalThis, name)
    defineProperty(globalThis, name, {
      configurable: true,
      enumerable: false,
      get() {
        const value = streams()[name]
        define(value)
        return value
      },
      set: define,
    })
  }
}

function lockedStreams(streams: Streams): Streams {
  const { WritableStream, TransformStream } = streams
  const ReadableStream = withoutBytes(streams.ReadableStream)
  const constructors = [ReadableStream, WritableStream, TransformStream]
  const prototypes = constructors.map(({ prototype }) => prototype as object)
  for (const prototype of prototypes) forgetTransfers(prototype)
  // Node assigns `constructor` to every stream that it makes out of another, as `tee` and `new TransformStream` do.
  freezeParts(constructors, prototypes)
  return { ...streams, ReadableStream }
}

/** The methods by which Node moves an object to another thread: whoever calls them is given ports. */
export function forgetTransfers(prototype: object): void {
  for (const key of getOwnPropertySymbols(prototype)) {
    if (key.description?.startsWith('messaging_') === true) deleteProperty(prototype, key)
  }
}
