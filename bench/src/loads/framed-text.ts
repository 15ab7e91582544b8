const LENGTH_BYTES = 4

/** A string as a frame: the length in bytes, then UTF-8. */
export function framed(text: string): Buffer {
  const bytes = Buffer.byteLength(text)
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + bytes)
  frame.writeUInt32LE(bytes, 0)
  frame.write(text, LENGTH_BYTES)
  return frame
}

/** Reads the strings of a stream of frames, in order. */
export class FrameReader {
  readonly #deliver: (text: string) => void
  #chunks: Buffer[] = []
  #bytes = 0
  /** Bytes of the next frame, or of its length until that is known. */
  #needed = LENGTH_BYTES

  constructor(deliver: (text: string) => void) {
    this.#deliver = deliver
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes < this.#needed) return
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#bytes)
    for (;;) {
      this.#needed = rest.length < LENGTH_BYTES ? LENGTH_BYTES : LENGTH_BYTES + rest.readUInt32LE(0)
      if (rest.length < this.#needed) break
      this.#deliver(rest.toString('utf8', LENGTH_BYTES, this.#needed))
      rest = rest.subarray(this.#needed)
    }
    this.#chunks = rest.length === 0 ? [] : [rest]
    this.#bytes = rest.length
  }
}
