/** Splits bytes into lines of limited length. */
export class LineReader {
  readonly #mostBytes: number
  #parts: Buffer[] = []
  #bytes = 0

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  /**
   * Returns the complete lines. Throws RangeError if a line is too long: the following lines cannot be separated then.
   */
  read(chunk: Buffer): readonly string[] {
    const lines: string[] = []
    let from = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
      this.#keep(chunk.subarray(from, end))
      lines.push(this.#take())
      from = end + 1
    }
    this.#keep(chunk.subarray(from))
    return lines
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length
    if (this.#bytes > this.#mostBytes) throw new RangeError(`A line has more than ${this.#mostBytes} bytes.`)
    if (part.length > 0) this.#parts.push(part)
  }

  #take(): string {
    const line = Buffer.concat(this.#parts).toString('utf8')
    this.#parts = []
    this.#bytes = 0
    return line.endsWith('\r') ? line.slice(0, -1) : line
  }
}

const LF = 0x0a
