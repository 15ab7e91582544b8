import { randomInt } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'

export const REDACTED = '[REDACTED]'

/** Removes secrets from responses and output before a tool sees them. It finds only the forms in its terms. */
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

  /** Whether it would replace anything. Yields between parts, because a body can be long. */
  async finds(bytes: Buffer): Promise<boolean> {
    const search = new RollingSearch(this.#terms)
    for (let from = 0; from < bytes.length; from += PART) {
      if (from > 0) await nextTurn()
      if (search.next(bytes.subarray(0, from + PART), from).length > 0) return true
    }
    return false
  }
}

/** Bytes that are searched at once. */
const PART = 256 * 1024

const LINE_END = 0x0a

/**
 * Replaces every match, however the stream is chunked. How much it buffers depends only on line ends and lengths, never
 * on a partial match: otherwise the delay would reveal that a guess is right so far.
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

  /**
   * Returns what is safe to pass on: whole lines if no term contains a line end, else all but the last `longest` bytes.
   */
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
    for (const [start, end] of this.#mergedSpans()) {
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
  #mergedSpans(): readonly Span[] {
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

type Span = readonly [start: number, end: number]

/** Odd and random, so that an attacker cannot construct collisions. */
const BASE = randomInt(2 ** 30) * 2 + 1

/** A byte string to find. */
export class SearchTerm {
  readonly bytes: Buffer
  /** Whether a match currently counts. */
  readonly counts: () => boolean
  readonly hash: number
  /** The factor by which a byte that leaves the window entered its hash. */
  readonly leaving: number

  /** Contract: `bytes` is not empty. */
  constructor(bytes: Buffer, counts: () => boolean) {
    let [hash, leaving] = [0, 1]
    for (const byte of bytes) {
      hash = (Math.imul(hash, BASE) + byte) | 0
      leaving = Math.imul(leaving, BASE)
    }
    this.bytes = bytes
    this.counts = counts
    this.hash = hash
    this.leaving = leaving
  }
}

/**
 * Finds byte strings in a stream by rolling hashes. The work per byte does not depend on the bytes. A search that
 * compares byte by byte would take longer the more of a secret was guessed, and that time can be measured.
 */
class RollingSearch {
  /** No term contains a line end. The search then restarts with each line. */
  readonly endsAtLines: boolean
  /** Bytes of the longest term. */
  readonly longest: number
  readonly #windows: readonly Window[]

  constructor(terms: readonly SearchTerm[]) {
    this.endsAtLines = !terms.some(({ bytes }) => bytes.includes(LINE_END))
    this.longest = Math.max(0, ...terms.map(({ bytes }) => bytes.length))
    const byLength = Map.groupBy(terms, ({ bytes }) => bytes.length)
    this.#windows = [...byLength].map(([length, same]) => new Window(length, same, this.endsAtLines))
  }

  /**
   * Matches that end after `from`. Contract: `bytes` has the last `longest` bytes before `from`, as far as the line
   * goes.
   */
  next(bytes: Buffer, from: number): readonly Span[] {
    return this.#windows.flatMap((window) => window.next(bytes, from))
  }
}

/** Terms of one length. */
class Window {
  readonly #length: number
  readonly #terms: readonly SearchTerm[]
  readonly #hashes: Int32Array
  readonly #endsAtLines: boolean
  #hash = 0
  /** Bytes since the last restart, up to the length. */
  #filled = 0

  constructor(length: number, terms: readonly SearchTerm[], endsAtLines: boolean) {
    this.#length = length
    this.#terms = terms
    this.#hashes = Int32Array.from(terms, ({ hash }) => hash)
    this.#endsAtLines = endsAtLines
  }

  next(bytes: Buffer, from: number): Span[] {
    const found: Span[] = []
    const length = this.#length
    const endsAtLines = this.#endsAtLines
    const { leaving } = this.#terms[0]!
    const hashes = this.#hashes
    let hash = this.#hash
    let filled = this.#filled
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (byte === LINE_END && endsAtLines) {
        hash = 0
        filled = 0
        continue
      }
      hash = (Math.imul(hash, BASE) + byte) | 0
      if (filled === length) hash = (hash - Math.imul(bytes[at - length]!, leaving)) | 0
      else if (++filled < length) continue
      for (let index = 0; index < hashes.length; index++) {
        if (hashes[index] === hash && this.#isMatch(index, bytes, at + 1)) found.push([at + 1 - length, at + 1])
      }
    }
    this.#hash = hash
    this.#filled = filled
    return found
  }

  #isMatch(index: number, bytes: Buffer, end: number): boolean {
    const term = this.#terms[index]!
    return term.counts() && term.bytes.compare(bytes, end - this.#length, end) === 0
  }
}
