import type {
  ReadableStream, ReadableStreamDefaultController, ReadableStreamDefaultReader, ReadableStreamReadResult,
  UnderlyingSource,
} from 'node:stream/web'
import { freezeParts } from './freeze.ts'

/** Captured before extension code runs, which could replace them. */
const { defineProperty, getOwnPropertySymbols } = Object
const { apply, construct, deleteProperty } = Reflect
const Refusal = TypeError

/**
 * Streams in memory. Compression streams run in a shared thread pool, and byte streams pass reachable state to native
 * code: both are left out.
 */
export const STREAMS = [
  'ReadableStream', 'ReadableStreamDefaultReader', 'ReadableStreamDefaultController', 'WritableStream',
  'WritableStreamDefaultController', 'WritableStreamDefaultWriter', 'TransformStream',
  'TransformStreamDefaultController', 'ByteLengthQueuingStrategy', 'CountQueuingStrategy', 'TextEncoderStream',
  'TextDecoderStream',
] as const

/** The part of `node:stream/web` that is used. */
export type Streams = Pick<typeof import('node:stream/web'), (typeof STREAMS)[number]>

/**
 * Defines the globals of streams, loaded and locked down on first access: loading takes longer than all of lockdown,
 * and few extensions use them. If lockdown fails, every access throws.
 */
export function lateStreams(load: () => Streams): void {
  let locked: Streams | undefined
  const streams = (): Streams => {
    locked ??= lockedStreams(load())
    return locked
  }
  for (const name of STREAMS) {
    const defineGlobal = (value: unknown): void => {
      defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false })
    }
    // Deleted first: redefining it would read it, which loads it.
    deleteProperty(globalThis, name)
    defineProperty(globalThis, name, {
      configurable: true,
      enumerable: false,
      get() {
        const value = streams()[name]
        defineGlobal(value)
        return value
      },
      set: defineGlobal,
    })
  }
}

function lockedStreams(streams: Streams): Streams {
  const { WritableStream, TransformStream } = streams
  const ReadableStream = withoutByteStreams(streams.ReadableStream)
  const constructors = [ReadableStream, WritableStream, TransformStream]
  const prototypes = constructors.map(({ prototype }) => prototype as object)
  for (const prototype of prototypes) removeTransferMethods(prototype)
  // Node assigns `constructor` to every stream that it derives, as in `tee` and `new TransformStream`.
  freezeParts(constructors, prototypes)
  return { ...streams, ReadableStream }
}

/** Removes the methods by which Node transfers an object to another thread: their caller gets ports. */
export function removeTransferMethods(prototype: object): void {
  for (const key of getOwnPropertySymbols(prototype)) {
    if (key.description?.startsWith('messaging_') === true) deleteProperty(prototype, key)
  }
}

type Node = typeof ReadableStream
type Source = UnderlyingSource<unknown>

let replaced: Node | undefined

/**
 * Node's `ReadableStream` without byte streams. Those copy memory by numbers in reachable properties, and a wrong
 * number aborts the process. Everything that creates or reads a byte stream is replaced. Contract: can be repeated
 * after a failure.
 */
function withoutByteStreams(node: Node): Node {
  replaced ??= replaceByteStreams(node)
  return replaced
}

function replaceByteStreams(node: Node): Node {
  const { prototype } = node
  const { getReader } = prototype as ReadableStream
  const facade = facadeOf(node)
  const read = (stream: ReadableStream): ReadableStreamDefaultReader =>
    apply(getReader, stream, []) as ReadableStreamDefaultReader
  type Options = { readonly mode?: unknown } | undefined
  define(prototype, 'getReader', function getReaderOfValues(this: ReadableStream, options: Options) {
    if (options?.mode !== undefined) throw noBytes('mode')
    return read(this)
  })
  define(prototype, 'tee', function tee(this: ReadableStream) {
    return branches(read(this), facade)
  })
  defineProperty(prototype, 'constructor', {
    get: () => facade,
    // Node assigns its own class to every stream that it derives from another.
    set(this: object, given: unknown) {
      define(this, 'constructor', given === node ? facade : given)
    },
    configurable: true,
  })
  return facade
}

/** Not a proxy: `util.inspect` can reveal the target of one. */
function facadeOf(node: Node): Node {
  function ReadableStream(source?: unknown, ...rest: readonly unknown[]): object {
    if (new.target === undefined) throw new Refusal("Class constructor ReadableStream cannot be invoked without 'new'")
    return construct(node, [plainSource(source), ...rest], new.target) as object
  }
  ReadableStream.prototype = node.prototype
  ReadableStream.from = node.from
  return ReadableStream as unknown as Node
}

/** Reads each property once: an accessor could return another value the second time. */
function plainSource(source: unknown): unknown {
  if (typeof source !== 'object' && typeof source !== 'function' || source === null) return source
  const { type, start, pull, cancel } = source as Source
  if (type !== undefined) throw noBytes('type')
  const bound = <Method>(method: Method): Method =>
    typeof method === 'function' ? ((...args: unknown[]) => apply(method, source, args)) as Method : method
  return { __proto__: null, start: bound(start), pull: bound(pull), cancel: bound(cancel) }
}

/** Two streams of the same values, as fast as the faster reader. */
function branches(reader: ReadableStreamDefaultReader, Stream: Node): [ReadableStream, ReadableStream] {
  const open = new Map<Source, ReadableStreamDefaultController>()
  const reasons: unknown[] = []
  const cancelled = Promise.withResolvers<void>()
  let reading: Promise<void> | undefined
  const pass = ({ done, value }: ReadableStreamReadResult<unknown>): void => {
    reading = undefined
    for (const controller of open.values()) {
      if (done) controller.close()
      else controller.enqueue(value)
    }
    if (done) cancelled.resolve()
  }
  const fail = (error: unknown): void => {
    for (const controller of open.values()) controller.error(error)
    cancelled.resolve()
  }
  reader.closed.catch(fail)
  const branch = (index: 0 | 1): ReadableStream => {
    const source: Source = {
      start: (controller) => void open.set(source, controller),
      pull() {
        reading ??= reader.read().then(pass, fail)
        return reading
      },
      cancel(reason) {
        open.delete(source)
        reasons[index] = reason
        if (open.size === 0) reader.cancel(reasons).then(cancelled.resolve, cancelled.reject)
        return cancelled.promise
      },
    }
    return new Stream(source)
  }
  return [branch(0), branch(1)]
}

function define(object: object, name: string, value: unknown): void {
  defineProperty(object, name, { value, writable: true, configurable: true, enumerable: true })
}

const noBytes = (option: string): TypeError =>
  new Refusal(
    `Byte streams are not available in a compartment. Leave \`${option}\` out, and send Uint8Arrays as values.`,
  )
