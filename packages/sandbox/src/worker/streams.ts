import { freezeParts } from './freeze.ts'
import { withoutBytes } from './readable-stream.ts'

/** Captured before extension code runs, which could replace them. */
const { defineProperty, getOwnPropertySymbols } = Object
const { deleteProperty } = Reflect

/**
 * Streams in memory. Compression streams run in a shared thread pool, and byte streams pass reachable state to native code: both are
 * left out.
 */
export const STREAMS = [
  'ReadableStream', 'ReadableStreamDefaultReader', 'ReadableStreamDefaultController', 'WritableStream',
  'WritableStreamDefaultController', 'WritableStreamDefaultWriter', 'TransformStream', 'TransformStreamDefaultController',
  'ByteLengthQueuingStrategy', 'CountQueuingStrategy', 'TextEncoderStream', 'TextDecoderStream',
] as const

/** The part of `node:stream/web` that is used. */
export type Streams = Pick<typeof import('node:stream/web'), (typeof STREAMS)[number]>

/**
 * Defines the globals of streams, loaded and locked down on first access: loading takes longer than all of lockdown, and few extensions
 * use them. If lockdown fails, every access throws.
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
    // Deleted first: redefining it would read it, which loads it.
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
  // Node assigns `constructor` to every stream that it derives, as in `tee` and `new TransformStream`.
  freezeParts(constructors, prototypes)
  return { ...streams, ReadableStream }
}

/** Removes the methods by which Node transfers an object to another thread: their caller gets ports. */
export function forgetTransfers(prototype: object): void {
  for (const key of getOwnPropertySymbols(prototype)) {
    if (key.description?.startsWith('messaging_') === true) deleteProperty(prototype, key)
  }
}
