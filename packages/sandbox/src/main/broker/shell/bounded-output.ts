/** The head of a stream, up to a number of bytes; the rest is counted as lost and let go. */
export class BoundedOutput {
  readonly #chunks: Buffer[] = []
  #left: number
  #truncated = false

  constructor(maxBytes: number) {
    this.#left = maxBytes
  }

  get truncated(): boolean {
    return this.#truncated
  }

  /** Returns what of it was kept. */
  add(bytes: Buffer): Buffer {
    const kept = bytes.subarray(0, this.#left)
    if (kept.length < bytes.length) this.#truncated = true
    if (kept.length > 0) this.#chunks.push(kept)
    this.#left -= kept.length
    return kept
  }

  /** Decoded as a whole, so that no character is split where two chunks meet, nor where the head ends. */
  text(): string {
    const bytes = Buffer.concat(this.#chunks)
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
