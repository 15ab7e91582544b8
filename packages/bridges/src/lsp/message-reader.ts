/** The largest message of a server. */
const MOST_BODY_BYTES = 16 * 1024 * 1024
const MOST_HEADER_BYTES = 4 * 1024
const HEADER_END = Buffer.from('\r\n\r\n')

/** A message as the protocol sends it: a header, an empty line and the body. */
export const framed = (json: string): string => `Content-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}`

/** Splits bytes into messages of limited length. */
export class MessageReader {
  #parts: Buffer[] = []
  #bytes = 0
  /** The length of the body that is being read; undefined while its header is. */
  #length: number | undefined

  /** Returns the complete bodies. Throws RangeError if the following ones cannot be separated any more. */
  read(chunk: Buffer): readonly string[] {
    this.#parts.push(chunk)
    this.#bytes += chunk.length
    const bodies: string[] = []
    while (this.#length === undefined ? this.#readHeader() : this.#bytes >= this.#length) {
      const length = this.#length
      if (length === undefined || this.#bytes < length) continue
      const whole = this.#whole()
      bodies.push(whole.toString('utf8', 0, length))
      this.#keep(whole.subarray(length))
      this.#length = undefined
    }
    return bodies
  }

  /** Returns whether the header is complete. */
  #readHeader(): boolean {
    const whole = this.#whole()
    this.#keep(whole)
    const end = whole.subarray(0, MOST_HEADER_BYTES).indexOf(HEADER_END)
    if (end < 0) {
      if (whole.length < MOST_HEADER_BYTES) return false
      throw new RangeError('It does not begin a message with a header.')
    }
    const [, digits] = /(?:^|\r\n)content-length: *(\d{1,15})(?:\r\n|$)/i.exec(whole.toString('latin1', 0, end)) ?? []
    const length = Number(digits ?? Number.NaN)
    if (Number.isNaN(length)) throw new RangeError('A header has no Content-Length.')
    if (length > MOST_BODY_BYTES) throw new RangeError(`A message has more than ${MOST_BODY_BYTES} bytes.`)
    this.#length = length
    this.#keep(whole.subarray(end + HEADER_END.length))
    return true
  }

  #whole(): Buffer {
    return this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts)
  }

  #keep(rest: Buffer): void {
    this.#parts = rest.length === 0 ? [] : [rest]
    this.#bytes = rest.length
  }
}
