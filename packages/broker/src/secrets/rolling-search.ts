import { randomInt } from 'node:crypto'

export type Span = readonly [start: number, end: number]

const LINE_END = 0x0a

/** Odd, and not known to those who choose what is searched. */
const BASE = randomInt(2 ** 30) * 2 + 1

/** A string to find. */
export class Sought {
  readonly bytes: Buffer
  /** Whether a match counts at this moment. */
  readonly counts: () => boolean
  readonly hash: number
  /** What the byte before a window of this length adds to its hash. */
  readonly leaving: number

  /** Contract: it is not empty. */
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
 * Finds strings in a stream by rolling hashes. The work per byte is the same whatever the bytes are: a search that
 * compares letter by letter takes longer the more of a secret was guessed, which can be measured.
 */
export class FormSearch {
  /** Whether no string spans a line end. Then a search starts afresh with each line. */
  readonly endsAtLines: boolean
  /** Bytes of the longest string. */
  readonly longest: number
  readonly #windows: readonly Window[]

  constructor(sought: readonly Sought[]) {
    this.endsAtLines = !sought.some(({ bytes }) => bytes.includes(LINE_END))
    this.longest = Math.max(0, ...sought.map(({ bytes }) => bytes.length))
    const byLength = Map.groupBy(sought, ({ bytes }) => bytes.length)
    this.#windows = [...byLength].map(([length, same]) => new Window(length, same, this.endsAtLines))
  }

  /** Matches that end at or after `from`. Contract: at least the last `longest` bytes before `from` are there, as far as the line has them. */
  next(bytes: Buffer, from: number): readonly Span[] {
    return this.#windows.flatMap((window) => window.next(bytes, from))
  }
}

/** The strings of one length. */
class Window {
  readonly #length: number
  readonly #sought: readonly Sought[]
  readonly #hashes: Int32Array
  readonly #endsAtLines: boolean
  #hash = 0
  /** Bytes since the search began afresh, up to the length. */
  #filled = 0

  constructor(length: number, sought: readonly Sought[], endsAtLines: boolean) {
    this.#length = length
    this.#sought = sought
    this.#hashes = Int32Array.from(sought, ({ hash }) => hash)
    this.#endsAtLines = endsAtLines
  }

  next(bytes: Buffer, from: number): Span[] {
    const found: Span[] = []
    const length = this.#length
    const endsAtLines = this.#endsAtLines
    const { leaving } = this.#sought[0]!
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
    const sought = this.#sought[index]!
    return sought.counts() && sought.bytes.compare(bytes, end - this.#length, end) === 0
  }
}
