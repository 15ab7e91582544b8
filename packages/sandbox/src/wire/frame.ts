import { Buffer } from 'node:buffer'

const HEADER_BYTES = 4

/** One packet as bytes: the length of its text, little-endian, then the text in UTF-8. */
export function encodeFrame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  // Every byte is written below, so nothing of the pool's memory goes out.
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length)
  frame.writeUInt32LE(length, 0)
  frame.write(text, HEADER_BYTES, length, 'utf8')
  return frame
}

export class FrameTooLarge extends Error {
  override readonly name = 'FrameTooLarge'
}

/**
 * Bytes of a stranger back into packets. A frame that comes in many pieces is copied once into a buffer of its own
 * size, so the work is linear and the memory is one frame, however small the pieces are.
 */
export class FrameDecoder {
  readonly #maxBytes: number
  readonly #header = Buffer.alloc(HEADER_BYTES)
  #headerFilled = 0
  #body: Buffer | undefined
  #bodyFilled = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Contract: throws FrameTooLarge as soon as a header announces too much; the decoder is of no use after that. */
  push(chunk: Buffer, deliver: (packet: string) => void): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#body === undefined) {
        const taken = Math.min(HEADER_BYTES - this.#headerFilled, chunk.length - at)
        chunk.copy(this.#header, this.#headerFilled, at, at + taken)
        this.#headerFilled += taken
        at += taken
        if (this.#headerFilled < HEADER_BYTES) return
        this.#headerFilled = 0
        const length = this.#header.readUInt32LE(0)
        if (length > this.#maxBytes) {
          throw new FrameTooLarge(`A frame of ${length} bytes was announced; at most ${this.#maxBytes} are taken.`)
        }
        if (chunk.length - at >= length) {
          deliver(chunk.toString('utf8', at, at + length))
          at += length
          continue
        }
        this.#body = Buffer.allocUnsafe(length)
        this.#bodyFilled = 0
      }
      const copied = chunk.copy(this.#body, this.#bodyFilled, at)
      this.#bodyFilled += copied
      at += copied
      if (this.#bodyFilled < this.#body.length) return
      const body = this.#body
      this.#body = undefined
      deliver(body.toString('utf8'))
    }
  }
}
