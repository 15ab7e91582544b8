import { StringDecoder } from 'node:string_decoder'

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

  /** Decodes the whole, so that no character is split between chunks or at the end. */
  text(): string {
    const bytes = this.#buffer.subarray(0, this.#length)
    return (this.#truncated ? bytes.subarray(0, wholeCharacters(bytes)) : bytes).toString('utf8')
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
