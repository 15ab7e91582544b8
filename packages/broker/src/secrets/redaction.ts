import { RollingSearch, type SearchTerm, type Span } from './rolling-search.ts'

export const REDACTED = '[REDACTED]'

/** Removes secrets from responses and output before a tool sees them. Only the encodings in `encodings.ts` are found. */
export class Redaction {
  readonly #terms: readonly SearchTerm[]

  constructor(terms: readonly SearchTerm[]) {
    this.#terms = terms
  }

  text(text: string): string {
    const stream = this.stream()
    return Buffer.concat([stream.push(Buffer.from(text)), stream.end()]).toString()
  }

  stream(): RedactingStream {
    return new RedactingStream(this.#terms, Buffer.from(REDACTED))
  }
}

const LINE_END = 0x0a

/**
 * Replaces every match, however the stream is chunked. How much it buffers depends only on line ends and lengths, never
 * on a partial match: otherwise the delay would tell the reader that a guess is right so far.
 */
export class RedactingStream {
  readonly #search: RollingSearch
  readonly #mark: Buffer
  #buffered: Buffer = Buffer.alloc(0)
  /** Matches in the buffered bytes. */
  #found: readonly Span[] = []
  /** How many buffered bytes belong to a match that was already replaced. */
  #marked = 0

  /** Contract: no term is empty. */
  constructor(terms: readonly SearchTerm[], mark: Buffer) {
    this.#search = new RollingSearch(terms)
    this.#mark = mark
  }

  /** Returns what is safe to pass on: whole lines if no term contains a line end, else all but the last `longest` bytes. */
  push(chunk: Buffer): Buffer {
    const bytes = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk])
    this.#found = [...this.#found, ...this.#search.next(bytes, this.#buffered.length)]
    const lines = this.#search.endsAtLines ? bytes.lastIndexOf(LINE_END) + 1 : 0
    return this.#release(bytes, Math.max(lines, bytes.length - this.#search.longest, 0))
  }

  /** Returns the buffered rest. */
  end(): Buffer {
    return this.#release(this.#buffered, this.#buffered.length)
  }

  #release(bytes: Buffer, until: number): Buffer {
    const pieces: Buffer[] = []
    let at = 0
    let marked = Math.max(0, this.#marked - until)
    for (const [start, end] of this.#stretches()) {
      if (start >= until) break
      pieces.push(bytes.subarray(at, start))
      if (start > 0 || this.#marked === 0) pieces.push(this.#mark)
      at = Math.min(end, until)
      marked = Math.max(0, end - until)
    }
    pieces.push(bytes.subarray(at, until))
    this.#found = this.#found.flatMap(([start, end]) => start >= until ? [[start - until, end - until] as const] : [])
    this.#buffered = Buffer.from(bytes.subarray(until))
    this.#marked = marked
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
  }

  /** The matches in order, joined where they overlap. */
  #stretches(): readonly Span[] {
    const spans: readonly Span[] = this.#marked > 0 ? [[0, this.#marked], ...this.#found] : this.#found
    const joined: [start: number, end: number][] = []
    for (const [start, end] of spans.toSorted((one, other) => one[0] - other[0])) {
      const last = joined.at(-1)
      if (last !== undefined && start < last[1]) last[1] = Math.max(last[1], end)
      else joined.push([start, end])
    }
    return joined
  }
}
