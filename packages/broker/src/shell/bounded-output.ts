/**
 * The head of a stream, up to a number of bytes; the rest is let go. In one buffer that grows: a list of pieces would
 * cost far more than the limit when they are of one byte each.
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

  /** Returns what of it was kept. */
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

  /** Decoded as a whole, so that no character is split where two chunks meet, nor where the head ends. */
  text(): string {
    const bytes = this.#buffer.subarray(0, this.#length)
    return (this.#truncated ? bytes.subarray(0, wholeCharacters(bytes)) : bytes).toString('utf8')
  }
}

/** How many bytes there are up to the last character that is complete. Bytes that are not UTF-8 count as they are. */
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
