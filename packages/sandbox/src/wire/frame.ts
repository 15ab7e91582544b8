import { Buffer } from 'node:buffer'
import type { Packet } from './protocol.ts'

const LENGTH_BYTES = 4
/** Flag in the length of a frame: several strings follow, each after its own length. */
const SEVERAL = 0x8000_0000
export const MAX_FRAME_BYTES = SEVERAL - 1
/** Flag in the length of one of several strings: it is Latin-1, which is faster to read than UTF-8. */
const LATIN1 = 0x8000_0000
const MAX_CHARACTER_BYTES = 4

const encoder = new TextEncoder()

/** A packet as bytes: a little-endian length, then the string as UTF-8. A long frame comes from the buffer pool. */
export function encodeFrame(packet: Packet): Buffer {
  if (typeof packet === 'string') {
    const bytes = Buffer.byteLength(packet)
    // Every byte is written below, so no old memory goes out.
    const frame = Buffer.allocUnsafe(LENGTH_BYTES + bytes)
    writeString(frame, 0, packet, bytes)
    return frame
  }
  return encodeAscii(packet) ?? encodeSeveral(packet)
}

/**
 * Long strings are mostly ASCII, so they are written without counting their bytes first: a call of 100 KB in a process
 * takes 1.6 times as long without this (decision 107). There is room for one more character, which shows when one is
 * not ASCII.
 */
function encodeAscii(strings: readonly string[]): Buffer | undefined {
  let size = LENGTH_BYTES + MAX_CHARACTER_BYTES
  for (const string of strings) size += LENGTH_BYTES + string.length
  const frame = takeBuffer(size)
  let at = LENGTH_BYTES
  for (const string of strings) {
    const start = frame.writeUInt32LE(string.length + LATIN1, at)
    at = start + string.length
    // A third faster than `Buffer.write`.
    const { read, written } = encoder.encodeInto(string, frame.subarray(start, at + MAX_CHARACTER_BYTES))
    if (read !== string.length || written !== string.length) {
      returnBuffer(frame)
      return undefined
    }
  }
  frame.writeUInt32LE(at - LENGTH_BYTES + SEVERAL, 0)
  return frame.subarray(0, at)
}

function encodeSeveral(strings: readonly string[]): Buffer {
  const sizes = strings.map((string) => Buffer.byteLength(string))
  const bytes = sizes.reduce((sum, size) => sum + LENGTH_BYTES + size, 0)
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + bytes)
  let at = frame.writeUInt32LE(bytes + SEVERAL, 0)
  for (const [index, string] of strings.entries()) at = writeString(frame, at, string, sizes[index]!)
  return frame
}

function writeString(frame: Buffer, at: number, string: string, bytes: number): number {
  const start = frame.writeUInt32LE(bytes, at)
  // Equal counts mean ASCII, which `latin1` writes in a third to two thirds of the time.
  frame.write(string, start, bytes, bytes === string.length ? 'latin1' : 'utf8')
  return start + bytes
}

/** The bytes are not a valid frame. */
export class FrameFault extends Error {
  override readonly name: string = 'FrameFault'
}
/** A frame announces more bytes than the limit. */
export class FrameTooLarge extends FrameFault {
  override readonly name = 'FrameTooLarge'
}

/**
 * Turns untrusted bytes back into packets. A frame that arrives in pieces is copied once into a buffer of its own size,
 * so the work is linear and the memory is one frame, however small the pieces are.
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
   * Keeps nothing of `chunk`, and reads only its first `length` bytes. Contract: throws FrameFault as soon as a frame
   * is too large or malformed; the decoder is unusable after that.
   */
  push(chunk: Buffer, deliver: (packet: Packet) => void, length = chunk.length): void {
    let at = 0
    while (at < length) {
      // Most frames arrive whole, and are read in place.
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
      returnBuffer(filled)
      return deliver(packet)
    }
    const bytes = this.#announced(filled, 0)
    if (bytes === 0) deliver(readPacket(filled, 0, 0, this.#several))
    else this.#filling = takeBuffer(bytes).subarray(0, bytes)
  }

  #announced(bytes: Buffer, at: number): number {
    const header = bytes.readUInt32LE(at)
    this.#several = header >= SEVERAL
    const length = this.#several ? header - SEVERAL : header
    if (length > this.#maxBytes) {
      throw new FrameTooLarge(`A frame of ${length} bytes is larger than the limit of ${this.#maxBytes} bytes.`)
    }
    return length
  }
}

function readPacket(bytes: Buffer, start: number, end: number, several: boolean): Packet {
  if (!several) return bytes.toString('utf8', start, end)
  const strings: string[] = []
  for (let at = start; at < end;) {
    const from = at + LENGTH_BYTES
    const header = from <= end ? bytes.readUInt32LE(at) : Infinity
    // Any bytes are valid Latin-1, so there is nothing to check.
    const isLatin1 = header >= LATIN1
    at = from + (isLatin1 ? header - LATIN1 : header)
    if (at > end) throw new FrameFault('A string is longer than its frame.')
    strings.push(bytes.toString(isLatin1 ? 'latin1' : 'utf8', from, at))
  }
  return strings
}

/** Smaller buffers are cheap to allocate. */
const SMALL_BYTES = 16 * 1024

interface SizeClass {
  readonly bytes: number
  readonly maxFree: number
  readonly free: Buffer[]
}
/** For one long string, and for a packet of many. */
const SIZE_CLASSES: readonly SizeClass[] = [
  { bytes: 256 * 1024, maxFree: 8, free: [] },
  { bytes: 2 * 1024 * 1024, maxFree: 4, free: [] },
]

/**
 * A buffer of at least this size for one frame, with old content in it: read only what was written. Without the pool,
 * calls of 100 KB in a process take 1.5 times the processor time, 64 abreast (decision 107): allocating a long buffer
 * takes longer than filling it, above all in a child process, which zeroes it first.
 */
export function takeBuffer(bytes: number): Buffer {
  const size = bytes > SMALL_BYTES ? SIZE_CLASSES.find((one) => bytes <= one.bytes) : undefined
  return size === undefined ? Buffer.allocUnsafe(bytes) : size.free.pop() ?? Buffer.allocUnsafeSlow(size.bytes)
}

export const isPooled = (frame: Buffer): boolean => sizeClassOf(frame) !== undefined

/** Contract: called once for each buffer, when nothing reads it any more. */
export function returnBuffer(frame: Buffer): void {
  const size = sizeClassOf(frame)
  if (size !== undefined && size.free.length < size.maxFree) size.free.push(Buffer.from(frame.buffer as ArrayBuffer))
}

const sizeClassOf = ({ buffer: { byteLength } }: Buffer): SizeClass | undefined =>
  SIZE_CLASSES.find(({ bytes }) => byteLength === bytes)
