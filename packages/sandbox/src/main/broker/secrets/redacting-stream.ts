type Span = readonly [start: number, end: number]

/**
 * Replaces every stretch of bytes that any of some texts covers, wherever the chunks are cut. What could still become one
 * of the texts is kept back, which is less than the longest of them.
 */
export class RedactingStream {
  readonly #texts: readonly Buffer[]
  readonly #mark: Buffer
  #kept: Buffer = Buffer.alloc(0)
  /** How much of what is kept belongs to a stretch that was marked already. */
  #marked = 0

  /** Contract: no text is empty. */
  constructor(texts: readonly Buffer[], mark: Buffer) {
    this.#texts = texts
    this.#mark = mark
  }

  push(chunk: Buffer): Buffer {
    const bytes = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk])
    return this.#release(bytes, this.#openEnd(bytes))
  }

  /** What was kept back. Nothing comes after it. */
  end(): Buffer {
    return this.#release(this.#kept, this.#kept.length)
  }

  #release(bytes: Buffer, until: number): Buffer {
    const pieces: Buffer[] = []
    let at = 0
    let marked = Math.max(0, this.#marked - until)
    for (const [start, end] of this.#stretches(bytes)) {
      if (start >= until) break
      pieces.push(bytes.subarray(at, start))
      if (start > 0 || this.#marked === 0) pieces.push(this.#mark)
      at = Math.min(end, until)
      marked = Math.max(0, end - until)
    }
    pieces.push(bytes.subarray(at, until))
    this.#kept = Buffer.from(bytes.subarray(until))
    this.#marked = marked
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
  }

  /** What the texts cover, in order and joined where they overlap. */
  #stretches(bytes: Buffer): readonly Span[] {
    const spans: Span[] = this.#marked > 0 ? [[0, this.#marked]] : []
    for (const text of this.#texts) {
      for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) spans.push([at, at + text.length])
    }
    const joined: [start: number, end: number][] = []
    for (const [start, end] of spans.toSorted((one, other) => one[0] - other[0])) {
      const last = joined.at(-1)
      if (last !== undefined && start < last[1]) last[1] = Math.max(last[1], end)
      else joined.push([start, end])
    }
    return joined
  }

  /** Where the first of the texts could begin that is not complete yet. */
  #openEnd(bytes: Buffer): number {
    return Math.min(...this.#texts.map((text) => {
      const first = text[0]!
      const earliest = Math.max(0, bytes.length - text.length + 1)
      for (let at = bytes.indexOf(first, earliest); at >= 0; at = bytes.indexOf(first, at + 1)) {
        if (bytes.compare(text, 0, bytes.length - at, at) === 0) return at
      }
      return bytes.length
    }), bytes.length)
  }
}
