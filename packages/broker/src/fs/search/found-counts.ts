import type { LinesFound } from '@bulkhead/contract'
import { Splitter } from './records.ts'

/** Collects what ripgrep says with `--count --null`: a path, a NUL, a number, the end of the line. */
export class FoundCounts {
  readonly #limit: number
  readonly #shownPath: (path: string) => string | undefined
  readonly #splitter = new Splitter('\0', (piece) => this.#take(piece))
  #counts: { readonly path: string; readonly count: number }[] = []
  #path: string | undefined
  #open: Buffer = Buffer.alloc(0)
  #total = 0
  #files = 0

  constructor({ limit, shownPath }: { readonly limit: number; readonly shownPath: (path: string) => string | undefined }) {
    this.#limit = limit
    this.#shownPath = shownPath
  }

  add(bytes: Buffer): boolean {
    // The number after the last path has no NUL behind it.
    const last = bytes.lastIndexOf(0)
    this.#open = last < 0 ? Buffer.concat([this.#open, bytes]) : Buffer.from(bytes.subarray(last + 1))
    return this.#splitter.add(bytes)
  }

  end(): Omit<LinesFound, 'unread'> {
    this.#take(this.#open)
    this.#prune()
    return { total: this.#total, files: this.#files, counts: this.#counts, matches: [] }
  }

  /** The number of the file before, and the path of the next. */
  #take(piece: Buffer): true {
    const text = piece.toString('utf8')
    const end = text.indexOf('\n')
    if (this.#path !== undefined && end > 0) this.#count(this.#path, Number.parseInt(text.slice(0, end), 10))
    this.#path = this.#path === undefined ? text : text.slice(end + 1)
    return true
  }

  #count(found: string, count: number): void {
    const path = this.#shownPath(found.replace(/^\.\//, ''))
    if (path === undefined || !(count > 0)) return
    this.#total += count
    this.#files++
    this.#counts.push({ path, count })
    if (this.#counts.length > 4 * this.#limit) this.#prune()
  }

  #prune(): void {
    this.#counts = this.#counts.toSorted((one, other) => (one.path < other.path ? -1 : 1)).slice(0, this.#limit)
  }
}
