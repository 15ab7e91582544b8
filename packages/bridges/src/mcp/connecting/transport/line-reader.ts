/** Splits bytes into lines of text, none of which is longer than it may be. */
export class LineReader {
  readonly #mostBytes: number
  #parts: Buffer[] = []
  #bytes = 0

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  /** The lines that are whole now. Throws RangeError when one grows too long: what follows cannot be told apart any more. */
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
