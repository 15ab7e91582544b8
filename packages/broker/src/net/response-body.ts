import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream'
import { BulkheadError } from '@bulkhead/contract'
import type { RedactingStream } from '../secrets/redacting-stream.ts'
import type { Redaction } from '../secrets/redaction.ts'
import type { DecoderClaim, DecoderMemory } from './decoder-memory.ts'
import type { Decoder } from './response-head.ts'
import type { NetLimits } from './limits.ts'
import { netFault } from './net-errors.ts'

export interface BodyParts {
  readonly host: string
  readonly source: Readable
  readonly decoder: Decoder | undefined
  readonly decoders: DecoderMemory
  readonly limits: NetLimits
  /** What must not be in it, as it is handed on. */
  readonly redaction?: Redaction | undefined
  /** Called once, when nothing more will come. */
  readonly released: () => void
}

/** The body of one response, pulled piece by piece: what nobody asks for stays with its sender. */
export class ResponseBody {
  readonly #parts: BodyParts
  #stream: Readable
  /** From the first read on: a body that no reader asked for holds no decoder. */
  #pieces: AsyncIterator<Buffer> | undefined
  #decoding: DecoderClaim | undefined
  /** Until what it kept back is taken. */
  #redacting: RedactingStream | undefined
  /** Readers take turns. */
  #turn: Promise<unknown> = Promise.resolve()
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

  /** The next bytes, or null at the end. Rejects with what ended the body early, and goes on doing so. */
  read(): Promise<Buffer | null> {
    const piece = this.#turn.then(() => this.#next())
    this.#turn = piece.catch(() => undefined)
    return piece
  }

  /** Nothing more is wanted. Idempotent. */
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

  /** Until there is something to hand on, or nothing more to come. */
  async #fill(): Promise<void> {
    while (this.#rest.length === 0 && !this.#done) {
      const piece = await this.#pull()
      if (this.#failure !== undefined) throw this.#failure
      if (piece !== undefined) this.#rest = this.#redacting?.push(piece) ?? piece
      else if (this.#redacting !== undefined) [this.#rest, this.#redacting] = [this.#redacting.end(), undefined]
      else this.#end(undefined)
    }
  }

  /** What came next, as it came; undefined at the end. */
  async #pull(): Promise<Buffer | undefined> {
    const { host, limits } = this.#parts
    const idle = setTimeout(() => this.#end(this.#decoding?.isGranted() === false
      ? new BulkheadError('ResourceBusy', `The compartment decodes as many compressed bodies as it may. ${FEWER_BODIES}`)
      : new BulkheadError('ToolExecutionFailed', `The host ${host} sent nothing more of its body for ${limits.idleMs} ms. Try again later.`)), limits.idleMs)
    try {
      const pieces = this.#pieces ?? await this.#open()
      const { done, value } = await pieces.next()
      if (done === true) return undefined
      this.#delivered += value.length
      this.#bound(this.#delivered)
      return value
    } catch (error) {
      // Some decoders take a body of no bytes for one that was cut off.
      const isEmpty = this.#received === 0 && (error as { readonly code?: unknown }).code === 'Z_BUF_ERROR'
      if (!isEmpty) this.#end(netFault(error, host))
      return undefined
    } finally {
      clearTimeout(idle)
    }
  }

  async #open(): Promise<AsyncIterator<Buffer>> {
    const { source, decoder, decoders, limits } = this.#parts
    if (decoder !== undefined) {
      this.#decoding = decoders.claim(decoder.bytes)
      await this.#decoding.granted
      if (this.#failure !== undefined) throw this.#failure
      this.#stream = pipeline(source, (pieces: AsyncIterable<Buffer>) => this.#counted(pieces), decoder.open(limits.chunkBytes), ignore)
    }
    this.#pieces = gathered(this.#stream, limits.chunkBytes)[Symbol.asyncIterator]()
    return this.#pieces
  }

  /** Counts what comes before it is decoded: a body may be endless there and empty behind. */
  async *#counted(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      this.#received += piece.length
      this.#bound(this.#received)
      yield piece
    }
  }

  #bound(bytes: number): void {
    const { host, limits, decoder } = this.#parts
    if (bytes > limits.bodyBytes) {
      const what = `The body from ${host} has more than ${limits.bodyBytes} bytes and was not read further.`
      throw new BulkheadError('OutputTooLarge', `${what} Ask for less of it.`)
    }
    if (decoder !== undefined && bytes > limits.unpackedFloor && bytes > this.#received * limits.unpackedRatio) {
      const what = `The body from ${host} decompresses to more than ${limits.unpackedRatio} times its size`
      throw new BulkheadError('OutputTooLarge', `${what} and was not read further. Ask for it with accept-encoding: identity.`)
    }
  }

  /** The first end is the one that counts. */
  #end(failure: BulkheadError | undefined): void {
    if (this.#done) return
    this.#done = true
    this.#failure = failure
    if (failure !== undefined) {
      this.#rest = Buffer.alloc(0)
      // With it everything before it, down to the connection.
      this.#stream.destroy(failure)
    }
    this.#decoding?.giveBack()
    this.#parts.released()
  }
}

/** An error that no reader sees is no error of the host. */
const ignore = (): void => undefined

const FEWER_BODIES = 'Read some of them to their end, or ask with accept-encoding: gzip.'

/** What waits together comes together: its sender may have cut it into single bytes, each of which would cost as much. */
async function* gathered(stream: Readable, mostBytes: number): AsyncGenerator<Buffer> {
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
