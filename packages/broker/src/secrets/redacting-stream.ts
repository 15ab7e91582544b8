import type { Sought, Span } from './rolling-search.ts'
import { FormSearch } from './rolling-search.ts'

const LINE_END = 0x0a

/**
 * Replaces every stretch of bytes that any of some strings covers, wherever the chunks are cut. How much is kept back
 * depends on line ends and lengths alone, never on whether something matches: what is kept back because it could begin a
 * secret shows the reader that it does.
 */
export class RedactingStream {
  readonly #search: FormSearch
  readonly #mark: Buffer
  #kept: Buffer = Buffer.alloc(0)
  /** Matches in what is kept. */
  #found: readonly Span[] = []
  /** How much of what is kept belongs to a stretch that was marked already. */
  #marked = 0

  /** Contract: no string is empty. */
  constructor(sought: readonly Sought[], mark: Buffer) {
    this.#search = new FormSearch(sought)
    this.#mark = mark
  }

  /** What can be handed on: whole lines where no string spans one, else all but as many bytes as the longest string has. */
  push(chunk: Buffer): Buffer {
    const bytes = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk])
    this.#found = [...this.#found, ...this.#search.next(bytes, this.#kept.length)]
    const lines = this.#search.endsAtLines ? bytes.lastIndexOf(LINE_END) + 1 : 0
    return this.#release(bytes, Math.max(lines, bytes.length - this.#search.longest, 0))
  }

  /** What was kept back. Nothing comes after it. */
  end(): Buffer {
    return this.#release(this.#kept, this.#kept.length)
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
    this.#kept = Buffer.from(bytes.subarray(until))
    this.#marked = marked
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
  }

  /** What the strings cover, in order and joined where they overlap. */
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
