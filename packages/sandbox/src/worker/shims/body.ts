import { Buffer } from 'node:buffer'
import { Blob, bytesOf, FormData, multipart } from './form-data.ts'
import type { Headers } from './headers.ts'

/** Where the bytes of a body come from. */
type Source = Uint8Array | AsyncIterable<Uint8Array>

interface Extracted {
  readonly source: Source
  /** For `content-type`. */
  readonly type: string | undefined
}

/** What the standard accepts as a body. Contract: throws TypeError for a stream that is in use. */
export function extractBody(given: unknown): Extracted | undefined {
  if (given === undefined || given === null) return undefined
  if (given instanceof FormData) {
    const { bytes, type } = multipart(given)
    return { source: bytes, type }
  }
  if (given instanceof Blob) return { source: bytesOf(given), type: given.type === '' ? undefined : given.type }
  if (given instanceof URLSearchParams) {
    return { source: bytesOf(given), type: 'application/x-www-form-urlencoded;charset=UTF-8' }
  }
  if (given instanceof ArrayBuffer || ArrayBuffer.isView(given)) {
    return { source: new Uint8Array(bytesOf(given)), type: undefined }
  }
  if (typeof given === 'object' && Symbol.asyncIterator in given) {
    if ((given as { readonly locked?: unknown }).locked === true) throw new TypeError('The stream is locked.')
    return { source: given as AsyncIterable<Uint8Array>, type: undefined }
  }
  return { source: bytesOf(given), type: 'text/plain;charset=UTF-8' }
}

/** All bytes of a body, without the stream that few requests need. Undefined when it has none. */
export let takeBytes: (body: Body) => Promise<Uint8Array> | undefined

/** The part that `Request` and `Response` share. */
export class Body {
  readonly headers: Headers
  #source: Source | null
  #stream: ReadableStream<Uint8Array> | undefined
  #used = false

  constructor(body: Extracted | undefined, headers: Headers) {
    this.#source = body?.source ?? null
    this.headers = headers
    if (body?.type !== undefined && !headers.has('content-type')) headers.set('content-type', body.type)
  }

  get bodyUsed(): boolean {
    return this.#used || this.#stream?.locked === true
  }

  get body(): ReadableStream<Uint8Array> | null {
    if (this.#source === null) return null
    this.#stream ??= this.#source instanceof ReadableStream
      ? this.#source as ReadableStream<Uint8Array>
      : streamOf(this.#source, (stream) => void (this.#used ||= stream === this.#stream))
    return this.#stream
  }

  async bytes(): Promise<Uint8Array> {
    return new Uint8Array(await this.#read())
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return new Uint8Array(await this.#read()).buffer
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(await this.#read())
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text()) as unknown
  }

  async blob(): Promise<Blob> {
    return new Blob([await this.#read()], { type: this.headers.get('content-type') ?? '' })
  }

  async formData(): Promise<FormData> {
    if (this.headers.get('content-type')?.startsWith('application/x-www-form-urlencoded') !== true) {
      throw new TypeError('In a compartment, only a URL-encoded body can be read as FormData.')
    }
    const form = new FormData()
    for (const [name, value] of new URLSearchParams(await this.text())) form.append(name, value)
    return form
  }

  /** A second reader of the same body. Contract: throws TypeError when it is used. */
  protected copy(): Extracted | undefined {
    if (this.bodyUsed) throw unusable()
    if (this.#source === null) return undefined
    if (this.#source instanceof Uint8Array && this.#stream === undefined) {
      return { source: this.#source, type: undefined }
    }
    const [own, other] = this.body!.tee()
    this.#source = own
    this.#stream = own
    return { source: other, type: undefined }
  }

  /** The body for a `Request` made of this one, which it uses up. */
  protected handOver(): Extracted | undefined {
    if (this.bodyUsed) throw unusable()
    if (this.#source === null) return undefined
    this.#used = true
    return { source: this.#stream ?? this.#source, type: undefined }
  }

  static {
    takeBytes = (body) => body.#source === null ? undefined : body.#read()
  }

  async #read(): Promise<Uint8Array> {
    if (this.bodyUsed) throw unusable()
    const source = this.#stream ?? this.#source
    if (source === null) return new Uint8Array()
    this.#used = true
    if (source instanceof Uint8Array) return source
    const pieces: Uint8Array[] = []
    for await (const piece of source) pieces.push(bytesOf(piece))
    return Buffer.concat(pieces)
  }
}

/** Nothing is read before a reader asks for it. */
function streamOf(source: Source, opened: (stream: ReadableStream) => void): ReadableStream<Uint8Array> {
  const pieces = source instanceof Uint8Array ? [new Uint8Array(source)].values() : source[Symbol.asyncIterator]()
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      opened(stream)
      const { done, value } = await pieces.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await pieces.return?.()
    },
  }, { highWaterMark: 0 })
  return stream
}

const unusable = (): TypeError => new TypeError('Body is unusable: it has been read already.')
