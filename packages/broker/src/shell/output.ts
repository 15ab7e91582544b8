import { StringDecoder } from 'node:string_decoder'
import { decoded, LEFT_OUT } from '@bulkhead/kit/text'

/**
 * The head of a stream, up to a number of bytes. One growing buffer: a list of one-byte chunks would use far more
 * memory than the limit.
 */
export class BoundedOutput {
  readonly #maxBytes: number
  #buffer = Buffer.alloc(0)
  #length = 0
  #truncated = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get truncated(): boolean {
    return this.#truncated
  }

  /** Returns the part that was kept. */
  add(bytes: Buffer): Buffer {
    const kept = bytes.subarray(0, this.#maxBytes - this.#length)
    if (kept.length < bytes.length) this.#truncated = true
    const length = this.#length + kept.length
    if (length > this.#buffer.length) {
      const larger = Buffer.alloc(Math.min(this.#maxBytes, Math.max(2 * this.#buffer.length, length)))
      this.#buffer.copy(larger, 0, 0, this.#length)
      this.#buffer = larger
    }
    kept.copy(this.#buffer, this.#length)
    this.#length = length
    return kept
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  /** Decodes the whole, so that no character is split between chunks or at the end. */
  text(): string {
    const bytes = this.bytes()
    return (this.#truncated ? bytes.subarray(0, wholeCharacters(bytes)) : bytes).toString('utf8')
  }
}

/** The head and the tail of a stream, each up to half of a number of bytes. */
export class BothEnds {
  readonly #head: BoundedOutput
  readonly #most: number
  #tail = Buffer.alloc(0)
  #length = 0
  #truncated = false

  constructor(maxBytes: number) {
    this.#most = Math.ceil(maxBytes / 2)
    this.#head = new BoundedOutput(this.#most)
  }

  get truncated(): boolean {
    return this.#truncated
  }

  /** Returns the part that belongs to the head. */
  add(bytes: Buffer): Buffer {
    const first = this.#head.add(bytes)
    const rest = bytes.subarray(first.length)
    if (rest.length === 0) return first
    if (this.#tail.length === 0) this.#tail = Buffer.alloc(2 * this.#most)
    for (let from = 0; from < rest.length; from += this.#most) this.#append(rest.subarray(from, from + this.#most))
    return first
  }

  text(): string {
    const tail = this.#tail.subarray(Math.max(0, this.#length - this.#most), this.#length)
    return this.#truncated
      ? this.#head.text() + LEFT_OUT + decoded(tail) : Buffer.concat([this.#head.bytes(), tail]).toString('utf8')
  }

  /** Contract: at most half of the buffer. */
  #append(bytes: Buffer): void {
    if (this.#length + bytes.length > this.#tail.length) {
      this.#tail.copyWithin(0, this.#length - this.#most, this.#length)
      this.#length = this.#most
    }
    bytes.copy(this.#tail, this.#length)
    this.#length += bytes.length
    if (this.#length > this.#most) this.#truncated = true
  }
}

/** The length without an incomplete UTF-8 character at the end. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if (byte < 0x80) break
    if (byte < 0xc0) continue
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
    return needs > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

export type StreamName = 'stdout' | 'stderr'

/** Output for updates, sent at most once per `everyMs` and stream. */
export class LiveOutput {
  readonly #send: (stream: StreamName, text: string) => void
  readonly #everyMs: number
  readonly #decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') }
  readonly #texts = new Map<StreamName, string>()
  #timer: NodeJS.Timeout | undefined

  constructor(send: (stream: StreamName, text: string) => void, everyMs: number) {
    this.#send = send
    this.#everyMs = everyMs
  }

  add(stream: StreamName, bytes: Buffer): void {
    const text = this.#decoders[stream].write(bytes)
    if (text === '') return
    this.#texts.set(stream, (this.#texts.get(stream) ?? '') + text)
    this.#timer ??= setTimeout(() => this.flush(), this.#everyMs)
  }

  /** Sends the buffered output now. */
  flush(): void {
    const texts = [...this.#texts]
    this.drop()
    for (const [stream, text] of texts) this.#send(stream, text)
  }

  /** Discards the buffered output. */
  drop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#texts.clear()
  }
}
