import type { Buffer } from 'node:buffer'
import { Transform, type TransformCallback } from 'node:stream'
import { bytesOf, fields, integer, later, result } from './crypto/values.ts'
import { shimModule, type ShimHost } from './host.ts'

type Native = typeof import('node:zlib')
type Codec = Transform & { close(): void }

/** The function of each class. */
const KINDS = {
  Gzip: 'gzip', Gunzip: 'gunzip', Deflate: 'deflate', Inflate: 'inflate', DeflateRaw: 'deflateRaw',
  InflateRaw: 'inflateRaw', Unzip: 'unzip', BrotliCompress: 'brotliCompress', BrotliDecompress: 'brotliDecompress',
  ZstdCompress: 'zstdCompress', ZstdDecompress: 'zstdDecompress',
} as const
type Kind = keyof typeof KINDS

/** What one use may produce. A few compressed bytes can become more than the memory of the compartment. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024
/** What is taken at once, which cannot be interrupted. Brotli and Zstandard can take seconds to compress a megabyte. */
const MAX_INPUT_BYTES = 128 * 1024 * 1024
const MAX_COMPRESSED_BYTES = 32 * 1024 * 1024
const MAX_SLOW_BYTES = 1024 * 1024
/** What a stream gives to the thread pool at once. */
const PIECE_BYTES = 64 * 1024
const MAX_CHUNK_BYTES = 1024 * 1024
const NUMBERS = ['flush', 'finishFlush', 'level', 'windowBits', 'memLevel', 'strategy'] as const

/** `node:zlib`. Bytes and numbers go to Node's; its objects stay private, and its output is counted. */
export function zlibModule(host: ShimHost): object {
  const native = host.native('zlib') as Native
  const members: Record<string, unknown> = {}
  for (const kind of Object.keys(KINDS) as Kind[]) {
    const name = KINDS[kind]
    if (!(`${name}Sync` in native)) continue
    const whole = (data: unknown, options?: unknown): Buffer => {
      const run = native[`${name}Sync`] as (bytes: Buffer, options: object) => Buffer
      const limit = limitOf(options)
      const given = { ...optionsOf(options), maxOutputLength: limit }
      const bytes = bytesOf('The data', data)
      integer('The length of the data', bytes.length, 0, mostBytes(kind))
      return translated(limit, () => result(run(bytes, given)) as Buffer)
    }
    members[`${name}Sync`] = whole
    members[name] = (data: unknown, ...rest: unknown[]) => {
      const callback = rest.pop()
      later(name, callback, () => [whole(data, rest[0])])
    }
    const create = native[`create${kind}`] as unknown as (options: object) => Codec
    const Class = streamClass(kind, create)
    members[kind] = Class
    members[`create${kind}`] = (options?: unknown) => new Class(options)
  }
  const { constants, codes } = native as Native & { readonly codes: object }
  return shimModule(host, 'zlib', {
    ...members, constants: Object.freeze({ ...constants }), codes: Object.freeze({ ...codes }),
    crc32: (data: unknown, start: unknown = 0) =>
      native.crc32(bytesOf('The data', data), integer('value', start, 0, 2 ** 32 - 1)),
  }, Object.keys(native).filter((name) => typeof (native as unknown as Record<string, unknown>)[name] === 'function'))
}

function mostBytes(kind: Kind): number {
  if (kind.endsWith('Compress')) return MAX_SLOW_BYTES
  return /^(?:Gzip|Deflate)/.test(kind) ? MAX_COMPRESSED_BYTES : MAX_INPUT_BYTES
}

const limitOf = (options: unknown): number => {
  const { maxOutputLength = MAX_OUTPUT_BYTES } = fields(options, ['maxOutputLength'])
  return Math.min(integer('maxOutputLength', maxOutputLength, 1, Number.MAX_SAFE_INTEGER), MAX_OUTPUT_BYTES)
}

/** Only numbers, in ranges that Node checks again. */
function optionsOf(options: unknown): Record<string, unknown> {
  const given = fields(options, [...NUMBERS, 'chunkSize', 'params', 'dictionary'])
  const numbers = NUMBERS.flatMap((name) =>
    given[name] === undefined ? [] : [[name, integer(name, given[name], -15, 64)] as const])
  const { params, dictionary, chunkSize } = given
  return {
    ...Object.fromEntries(numbers),
    ...(chunkSize !== undefined && {
      chunkSize: Math.min(integer('chunkSize', chunkSize, 64, 2 ** 31), MAX_CHUNK_BYTES),
    }),
    ...(dictionary !== undefined && { dictionary: bytesOf('The dictionary', dictionary) }),
    ...(params !== undefined && { params: numericParams(params) }),
  }
}

/**
 * The largest value of each parameter of Brotli (below 100) and Zstandard. Others start threads, take memory by the
 * gigabyte, or make a search take very long.
 */
const PARAMETERS: ReadonlyMap<string, number> = new Map([
  ['0', 2], ['1', 11], ['2', 24], ['3', 18], ['4', 1], ['5', 2 ** 31 - 1], ['7', 3], ['8', 120],
  ['100', 27], ['101', 27], ['200', 1], ['201', 1], ['202', 1],
])

function numericParams(params: unknown): Record<string, number> {
  return Object.fromEntries(Object.entries(params as Record<string, unknown>).map(([name, value]) => {
    integer('The name of a parameter', Number(name), 0, 1000)
    const given = typeof value === 'boolean' ? Number(value) : value
    return [name, integer(`The parameter ${name}`, given, 0, PARAMETERS.get(name) ?? 0)]
  }))
}

const tooLarge = (limit: number): Error => Object.assign(
  new RangeError(`The output of zlib is larger than ${limit} bytes. A compartment takes no more at once: `
    + 'ask for less data, or decompress it in parts.'),
  { code: 'ERR_BUFFER_TOO_LARGE' },
)

/** Runs the work. An output that is too large becomes our own error, which says what to do. */
function translated<Value>(limit: number, work: () => Value): Value {
  try {
    return work()
  } catch (error) {
    throw (error as { readonly code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(limit) : error
  }
}

let last: Promise<void> = Promise.resolve()

/** One job of all streams after the other: a host shares the thread pool with its threads. */
function inTurn(job: (done: () => void) => void): Promise<void> {
  last = last.then(() => new Promise((done) => job(done)))
  return last
}

/** A stream around Node's, which works in pieces: it waits while no one reads. */
function streamClass(kind: Kind, create: (options: object) => Codec): new (options?: unknown) => Transform {
  class Stream extends Transform {
    readonly #codec: Codec
    readonly #limit: number
    #read = 0
    #written = 0
    #isFull = false
    #isEnded = false
    #resume: (() => void) | undefined
    /** Ends the job that is under way. */
    #end: (() => void) | undefined

    constructor(options?: unknown) {
      super(fields(options, ['highWaterMark']) as { highWaterMark?: number })
      this.#limit = limitOf(options)
      this.#codec = create(optionsOf(options))
      this.#codec.on('data', (piece: Uint8Array) => this.#took(piece))
      this.#codec.on('error', (error) => {
        this.destroy(error)
        this.#end?.()
      })
      // Also in the middle of a write, whose rest is no part of the compressed data.
      this.#codec.on('end', () => {
        this.#isEnded = true
        this.#end?.()
      })
    }

    get bytesWritten(): number {
      return this.#written
    }

    close(done?: () => void): void {
      if (done !== undefined) this.once('close', done)
      this.destroy()
    }

    flush(...given: unknown[]): void {
      const done = given.pop()
      if (typeof done === 'function') queueMicrotask(done as () => void)
    }

    #took(piece: Uint8Array): void {
      this.#read += piece.length
      if (this.#read > this.#limit) this.destroy(tooLarge(this.#limit))
      // Between two uses of the thread pool.
      if (this.destroyed) this.#codec.close()
      else this.#isFull = !this.push(result(piece))
    }

    #job(start: (done: () => void) => void): Promise<void> {
      return inTurn((done) => {
        if (this.destroyed || this.#isEnded) return done()
        this.#end = () => {
          this.#end = undefined
          if (this.destroyed) this.#codec.close()
          done()
        }
        start(() => this.#end?.())
      })
    }

    async #write(bytes: Buffer): Promise<void> {
      for (let at = 0; at < bytes.length && !this.destroyed; at += PIECE_BYTES) {
        const piece = bytes.subarray(at, at + PIECE_BYTES)
        await this.#job((done) => void this.#codec.write(piece, done))
        if (this.#isFull) await new Promise<void>((resume) => void (this.#resume = resume))
      }
    }

    override _read(size: number): void {
      this.#isFull = false
      this.#resume?.()
      // oxlint-disable-next-line eslint/no-underscore-dangle -- Node's name
      super._read(size)
    }

    override _transform(chunk: unknown, encoding: BufferEncoding, done: TransformCallback): void {
      const bytes = bytesOf('The data', chunk, encoding)
      this.#written += bytes.length
      void this.#write(bytes).then(() => done())
    }

    override _flush(done: TransformCallback): void {
      void this.#job(() => void this.#codec.end()).then(() => this.destroyed ? undefined : done())
    }

    /** A job that is under way ends first, so that no other is added to it. */
    override _destroy(error: Error | null, done: (error: Error | null) => void): void {
      if (this.#end === undefined) this.#codec.close()
      done(error)
    }
  }
  Object.defineProperty(Stream, 'name', { value: kind })
  return Stream
}
