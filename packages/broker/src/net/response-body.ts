import { pipeline, type Readable } from 'node:stream'
import { BulkheadError } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import type { RedactingStream, Redaction } from '../secrets/redaction.ts'
import { netError, type Decoder } from './response.ts'
import type { NetLimits } from './limits.ts'

export interface BodyParts {
  readonly host: string
  readonly source: Readable
  readonly decoder: Decoder | undefined
  readonly decoders: DecoderMemory
  readonly limits: NetLimits
  /** Removes secrets. */
  readonly redaction?: Redaction | undefined
  /** Called once, when the body has ended. */
  readonly released: () => void
}

/** The body of one response, read on demand: what the tool does not read is not received. */
export class ResponseBody {
  readonly #parts: BodyParts
  #stream: Readable
  /** Set with the first read, so that an unread body uses no decoder. */
  #pieces: AsyncIterator<Buffer> | undefined
  #decoding: DecoderClaim | undefined
  /** Unset once its buffered rest is taken. */
  #redacting: RedactingStream | undefined
  /** Reads are serialized. */
  #lastRead: Promise<unknown> = Promise.resolve()
  #rest: Buffer = Buffer.alloc(0)
  #received = 0
  #delivered = 0
  #done = false
  #failure: BulkheadError | undefined

  constructor(parts: BodyParts) {
    this.#parts = parts
    this.#stream = parts.source.on('error', ignore)
    this.#redacting = parts.redaction?.stream()
  }

  /** The next bytes, or null at the end. If the body failed, every read rejects with that error. */
  read(): Promise<Buffer | null> {
    const piece = this.#lastRead.then(() => this.#next())
    this.#lastRead = piece.catch(() => undefined)
    return piece
  }

  /** Discards the rest. Idempotent. */
  drop(reason: BulkheadError): void {
    this.#end(reason)
  }

  async #next(): Promise<Buffer | null> {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#rest.length === 0 && !this.#done) await this.#fill()
    if (this.#rest.length === 0) return null
    const piece = this.#rest.subarray(0, this.#parts.limits.chunkBytes)
    this.#rest = this.#rest.subarray(piece.length)
    return piece
  }

  /** Reads until there are bytes to pass on, or the body has ended. */
  async #fill(): Promise<void> {
    while (this.#rest.length === 0 && !this.#done) {
      const piece = await this.#pull()
      if (this.#failure !== undefined) throw this.#failure
      if (piece !== undefined) this.#rest = this.#redacting?.push(piece) ?? piece
      else if (this.#redacting !== undefined) [this.#rest, this.#redacting] = [this.#redacting.end(), undefined]
      else this.#end(undefined)
    }
  }

  /** The next chunk before redaction; undefined at the end. */
  async #pull(): Promise<Buffer | undefined> {
    const { host, limits } = this.#parts
    const idle = setTimeout(() => this.#end(this.#idleError()), limits.idleMs)
    try {
      const pieces = this.#pieces ?? await this.#open()
      const { done, value } = await pieces.next()
      if (done === true) return undefined
      this.#delivered += value.length
      this.#requireWithinLimits(this.#delivered)
      return value
    } catch (error) {
      // Some decoders report an empty body as truncated.
      const isEmpty = this.#received === 0 && errorCode(error) === 'Z_BUF_ERROR'
      if (!isEmpty) this.#end(netError(error, host))
      return undefined
    } finally {
      clearTimeout(idle)
    }
  }

  #idleError(): BulkheadError {
    const { host, limits } = this.#parts
    if (this.#decoding?.isGranted() === false) {
      const what = 'The compartment has no memory left for another compressed body.'
      return new BulkheadError('ResourceBusy', `${what} ${FEWER_BODIES}`)
    }
    const what = `The host ${host} sent nothing for ${limits.idleMs} ms. Try again later.`
    return new BulkheadError('ToolExecutionFailed', what)
  }

  async #open(): Promise<AsyncIterator<Buffer>> {
    const { source, decoder, decoders, limits } = this.#parts
    if (decoder !== undefined) {
      this.#decoding = decoders.claim(decoder.bytes)
      await this.#decoding.granted
      if (this.#failure !== undefined) throw this.#failure
      const count = (pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> => this.#counted(pieces)
      this.#stream = pipeline(source, count, decoder.open(limits.chunkBytes), ignore)
    }
    this.#pieces = coalesced(this.#stream, limits.chunkBytes)[Symbol.asyncIterator]()
    return this.#pieces
  }

  /** Counts compressed bytes: an endless compressed body may decode to nothing. */
  async *#counted(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      this.#received += piece.length
      this.#requireWithinLimits(this.#received)
      yield piece
    }
  }

  #requireWithinLimits(bytes: number): void {
    const { host, limits, decoder } = this.#parts
    if (bytes > limits.bodyBytes) {
      const what = `The body from ${host} has more than ${limits.bodyBytes} bytes. Request a part of it.`
      throw new BulkheadError('OutputTooLarge', what)
    }
    if (decoder !== undefined && bytes > limits.unpackedFloor && bytes > this.#received * limits.unpackedRatio) {
      const what = `The body from ${host} decompresses to more than ${limits.unpackedRatio} times its size`
      throw new BulkheadError('OutputTooLarge', `${what}. Request it with accept-encoding: identity.`)
    }
  }

  /** Only the first call counts. */
  #end(failure: BulkheadError | undefined): void {
    if (this.#done) return
    this.#done = true
    this.#failure = failure
    if (failure !== undefined) {
      this.#rest = Buffer.alloc(0)
      // Destroys the whole pipeline, down to the connection.
      this.#stream.destroy(failure)
    }
    this.#decoding?.release()
    this.#parts.released()
  }
}

/** Without a listener, an error that no read consumes would crash the host. */
const ignore = (): void => undefined

const FEWER_BODIES = 'Read other bodies to the end, or request this one with accept-encoding: gzip.'

/** Joins buffered chunks: a sender may split a body into single bytes, and each chunk has a fixed cost. */
async function* coalesced(stream: Readable, mostBytes: number): AsyncGenerator<Buffer> {
  for await (const first of stream as AsyncIterable<Buffer>) {
    const pieces = [first]
    let bytes = first.length
    while (bytes < mostBytes && stream.readableLength > 0) {
      const more = stream.read() as Buffer | null
      if (more === null) break
      pieces.push(more)
      bytes += more.length
    }
    yield pieces.length === 1 ? first : Buffer.concat(pieces, bytes)
  }
}

/** Memory for the decoders of one compartment. First come, first served. */
export class DecoderMemory {
  readonly #waiting: { readonly bytes: number; readonly begin: () => void }[] = []
  #free: number

  constructor(bytes: number) {
    this.#free = bytes
  }

  claim(bytes: number): DecoderClaim {
    const { promise, resolve } = Promise.withResolvers<void>()
    let held = false
    const request = {
      bytes,
      begin: () => {
        held = true
        this.#free -= bytes
        resolve()
      },
    }
    this.#waiting.push(request)
    this.#admit()
    return {
      granted: promise,
      isGranted: () => held,
      release: () => {
        const index = this.#waiting.indexOf(request)
        if (index >= 0) this.#waiting.splice(index, 1)
        if (held) this.#free += bytes
        held = false
        resolve()
        this.#admit()
      },
    }
  }

  #admit(): void {
    while (this.#waiting.length > 0 && this.#waiting[0]!.bytes <= this.#free) this.#waiting.shift()!.begin()
  }
}

export interface DecoderClaim {
  /** Resolves when the memory is granted, or the claim is released. */
  readonly granted: Promise<void>
  isGranted(): boolean
  /** Idempotent. */
  release(): void
}
