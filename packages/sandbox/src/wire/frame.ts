import { Buffer } from 'node:buffer'
import { giveBack, takeRoom } from './buffer-pool.ts'
import type { Packet } from './transport.ts'

const LENGTH_BYTES = 4
/** In the length of a frame: what follows is not one text but several, each after its own length. */
const SEVERAL = 0x8000_0000
export const MAX_FRAME_BYTES = SEVERAL - 1
/** In the length of one text of several: each byte is a character, which is faster to read than UTF-8. */
const BYTE_PER_CHARACTER = 0x8000_0000
const MAX_CHARACTER_BYTES = 4

const encoder = new TextEncoder()

/** One packet as bytes: the length of what follows, little-endian, then the text in UTF-8. A long one is in a room to give back. */
export function encodeFrame(packet: Packet): Buffer {
  if (typeof packet === 'string') {
    const bytes = Buffer.byteLength(packet)
    // Every byte is written below, so nothing of the pool's memory goes out.
    const frame = Buffer.allocUnsafe(LENGTH_BYTES + bytes)
    writeText(frame, 0, packet, bytes)
    return frame
  }
  return encodeAscii(packet) ?? encodeSeveral(packet)
}

/**
 * Long texts are mostly ASCII, and to count their bytes takes as long as to write them. So they are written as if they were,
 * with room for one character more. That is used if any is not, for all of them do not fit then; undefined is returned.
 */
function encodeAscii(texts: readonly string[]): Buffer | undefined {
  const frame = takeRoom(asciiBytes(texts))
  const bytes = writeAscii(frame, texts)
  // What was not written does not go out.
  return bytes === undefined ? void giveBack(frame) : frame.subarray(0, bytes)
}

/** How much room a frame of these texts needs, if they are ASCII. */
export function asciiBytes(texts: readonly string[]): number {
  let bytes = LENGTH_BYTES + MAX_CHARACTER_BYTES
  for (const text of texts) bytes += LENGTH_BYTES + text.length
  return bytes
}

/** Returns how many bytes the frame has; undefined when one of the texts is not ASCII. Contract: there is room for it. */
export function writeAscii(frame: Buffer, texts: readonly string[]): number | undefined {
  let at = LENGTH_BYTES
  for (const text of texts) {
    const start = frame.writeUInt32LE(text.length + BYTE_PER_CHARACTER, at)
    at = start + text.length
    // A third faster than `write`, and as exact.
    const { read, written } = encoder.encodeInto(text, frame.subarray(start, at + MAX_CHARACTER_BYTES))
    if (read !== text.length || written !== text.length) return undefined
  }
  frame.writeUInt32LE(at - LENGTH_BYTES + SEVERAL, 0)
  return at
}

/** The packet of a frame that is there as a whole. Contract: throws FrameFault for bytes that are none. */
export function readFrame(frame: Buffer): Packet {
  const header = frame.length >= LENGTH_BYTES ? frame.readUInt32LE(0) : 0
  if (header !== frame.length - LENGTH_BYTES + SEVERAL) throw new FrameFault('The bytes are no frame of several texts.')
  return readPacket(frame, LENGTH_BYTES, frame.length, true)
}

function encodeSeveral(texts: readonly string[]): Buffer {
  const sizes = texts.map((text) => Buffer.byteLength(text))
  const bytes = sizes.reduce((sum, size) => sum + LENGTH_BYTES + size, 0)
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + bytes)
  let at = frame.writeUInt32LE(bytes + SEVERAL, 0)
  for (const [index, text] of texts.entries()) at = writeText(frame, at, text, sizes[index]!)
  return frame
}

function writeText(frame: Buffer, at: number, text: string, bytes: number): number {
  const start = frame.writeUInt32LE(bytes, at)
  // As many bytes as characters means that all of them are ASCII, and to write those as they are takes less: two thirds of the
  // time for forty of them, a third from a thousand on.
  frame.write(text, start, bytes, bytes === text.length ? 'latin1' : 'utf8')
  return start + bytes
}

/** Bytes that are no frame; or one that announces more than is taken. */
export class FrameFault extends Error {
  override readonly name: string = 'FrameFault'
}
export class FrameTooLarge extends FrameFault {
  override readonly name = 'FrameTooLarge'
}

/**
 * Bytes of a stranger back into packets. A frame that comes in many pieces is copied once into a room of its own
 * size, so the work is linear and the memory is one frame, however small the pieces are.
 */
export class FrameDecoder {
  readonly #maxBytes: number
  readonly #header = Buffer.alloc(LENGTH_BYTES)
  /** What is being filled: the header of a frame, or its body. */
  #filling: Buffer = this.#header
  #filled = 0
  #several = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /**
   * Keeps nothing of `chunk`, and looks at no more of it than `length`. Contract: throws FrameFault as soon as a frame
   * announces too much or is not of its form; the decoder is of no use after that.
   */
  push(chunk: Buffer, deliver: (packet: Packet) => void, length = chunk.length): void {
    let at = 0
    while (at < length) {
      // Most frames come whole, and are read where they are.
      if (this.#filling === this.#header && this.#filled === 0 && length - at >= LENGTH_BYTES) {
        const start = at + LENGTH_BYTES
        const end = start + this.#announced(chunk, at)
        if (end <= length) {
          deliver(readPacket(chunk, start, end, this.#several))
          at = end
          continue
        }
      }
      const copied = chunk.copy(this.#filling, this.#filled, at, length)
      this.#filled += copied
      at += copied
      if (this.#filled === this.#filling.length) this.#complete(deliver)
    }
  }

  #complete(deliver: (packet: Packet) => void): void {
    const filled = this.#filling
    this.#filled = 0
    if (filled !== this.#header) {
      this.#filling = this.#header
      const packet = readPacket(filled, 0, filled.length, this.#several)
      giveBack(filled)
      return deliver(packet)
    }
    const bytes = this.#announced(filled, 0)
    if (bytes === 0) deliver(readPacket(filled, 0, 0, this.#several))
    else this.#filling = takeRoom(bytes).subarray(0, bytes)
  }

  #announced(bytes: Buffer, at: number): number {
    const header = bytes.readUInt32LE(at)
    this.#several = header >= SEVERAL
    const length = this.#several ? header - SEVERAL : header
    if (length > this.#maxBytes) {
      throw new FrameTooLarge(`A frame of ${length} bytes was announced; at most ${this.#maxBytes} are taken.`)
    }
    return length
  }
}

function readPacket(bytes: Buffer, start: number, end: number, several: boolean): Packet {
  if (!several) return bytes.toString('utf8', start, end)
  const texts: string[] = []
  for (let at = start; at < end;) {
    const from = at + LENGTH_BYTES
    const header = from <= end ? bytes.readUInt32LE(at) : Infinity
    // Whatever the bytes are, each is a character: there is nothing in them that could be refused.
    const byByte = header >= BYTE_PER_CHARACTER
    at = from + (byByte ? header - BYTE_PER_CHARACTER : header)
    if (at > end) throw new FrameFault('A text is longer than the frame it is in.')
    texts.push(bytes.toString(byByte ? 'latin1' : 'utf8', from, at))
  }
  return texts
}
