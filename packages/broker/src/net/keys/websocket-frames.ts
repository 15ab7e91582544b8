import type { RedactingStream, Redaction } from '../../secrets/redaction.ts'

const FINAL = 0x80
const RESERVED = 0x70
const MASKED = 0x80
const CONTROL = 0x08
/** Of a control frame. */
const CONTROL_BYTES = 125

interface Frame {
  readonly isFinal: boolean
  readonly opcode: number
  readonly length: number
  /** Of the header. */
  readonly bytes: number
}

/**
 * Removes secrets from the messages that a server sends over a websocket. A long message arrives in other parts than it
 * was sent. Throws a RangeError for frames that are compressed or malformed: they cannot be searched.
 */
export async function* redactFrames(source: AsyncIterable<Buffer>, redaction: Redaction): AsyncGenerator<Buffer> {
  const message = new MessageRedaction(redaction)
  let rest: Buffer = Buffer.alloc(0)
  let frame: Frame | undefined
  let left = 0
  for await (const chunk of source) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const out: Buffer[] = []
    for (;;) {
      if (frame === undefined) {
        frame = readHeader(rest)
        if (frame === undefined) break
        rest = rest.subarray(frame.bytes)
        left = frame.length
      }
      const isControl = (frame.opcode & CONTROL) !== 0
      // A control frame is short, and redacted as a whole.
      if (isControl ? rest.length < left : left > 0 && rest.length === 0) break
      const payload = rest.subarray(0, left)
      rest = rest.subarray(payload.length)
      left -= payload.length
      out.push(isControl ? controlFrame(frame.opcode, payload, redaction) : message.part(frame, payload, left === 0))
      if (left > 0) break
      frame = undefined
    }
    if (out.length > 0) yield Buffer.concat(out)
  }
}

/** undefined until all of it is there. */
function readHeader(bytes: Buffer): Frame | undefined {
  if (bytes.length < 2) return undefined
  const [first, second] = [bytes[0]!, bytes[1]!]
  const short = second & ~MASKED
  const size = short === 126 ? 4 : short === 127 ? 10 : 2
  const opcode = first & 0x0f
  const isFinal = (first & FINAL) !== 0
  const isControl = (opcode & CONTROL) !== 0
  if ((first & RESERVED) !== 0 || (second & MASKED) !== 0 || (isControl && (short > CONTROL_BYTES || !isFinal))) {
    throw new RangeError('A frame of the websocket is compressed or malformed.')
  }
  if (bytes.length < size) return undefined
  const length = size === 2 ? short : size === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  if (!Number.isSafeInteger(length)) throw new RangeError('A frame of the websocket is too long.')
  return { isFinal, opcode, length, bytes: size }
}

function controlFrame(opcode: number, payload: Buffer, redaction: Redaction): Buffer {
  const stream = redaction.stream()
  const clean = Buffer.concat([stream.push(payload), stream.end()]).subarray(0, CONTROL_BYTES)
  return frameOf(true, opcode, clean)
}

function frameOf(isFinal: boolean, opcode: number, payload: Buffer): Buffer {
  const first = (isFinal ? FINAL : 0) | opcode
  const { length } = payload
  const header = length <= 125 ? Buffer.from([first, length])
    : length <= 0xffff ? Buffer.from([first, 126, length >> 8, length & 0xff]) : Buffer.alloc(10)
  if (header.length === 10) {
    header.set([first, 127])
    header.writeBigUInt64BE(BigInt(length), 2)
  }
  return Buffer.concat([header, payload])
}

/** One message after the other, across its frames. */
class MessageRedaction {
  readonly #redaction: Redaction
  #stream: RedactingStream | undefined
  /** Of the next frame. */
  #opcode = 0

  constructor(redaction: Redaction) {
    this.#redaction = redaction
  }

  /** The frame to send for a part of a message; empty if all of it is held back. */
  part({ isFinal, opcode }: Frame, payload: Buffer, endsFrame: boolean): Buffer {
    if (this.#stream === undefined) this.#opcode = opcode
    this.#stream ??= this.#redaction.stream()
    const released = this.#stream.push(payload)
    const isLast = isFinal && endsFrame
    if (!isLast && released.length === 0) return released
    const clean = isLast ? Buffer.concat([released, this.#stream.end()]) : released
    const made = frameOf(isLast, this.#opcode, clean)
    this.#opcode = 0
    if (isLast) this.#stream = undefined
    return made
  }
}
