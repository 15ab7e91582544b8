import type { LineFound, LinesFound } from '@bulkhead/contract'
import { readRecord, recordType, Splitter } from './records.ts'

/** Characters in one result. */
const ANSWER_CHARS = 4 * 1024 * 1024
/** Characters to buffer. With much context per match, this may be most of the searched text. */
const KEPT_CHARS = 4 * ANSWER_CHARS
/** Overhead of a buffered line. */
const LINE_CHARS = 64

/** The end of what was found that a model sees. */
const LAST = 10

interface FileEnd {
  readonly path: string
  found: readonly LineFound[]
}

interface Line {
  readonly text: string
  readonly cut: boolean
}

interface FileLines {
  readonly path: string
  /** Whether its matches may be in the result. */
  readonly shown: boolean
  readonly matched: number[]
  /** Matched lines and context lines. */
  readonly lines: Map<number, Line>
  chars: number
  count: number
}

export interface LineResultsOptions {
  readonly limit: number
  readonly context: number
  /** Whether everything is also written as text, in the order in which it is found. */
  readonly saves?: boolean
  /** Characters to buffer. */
  readonly keptChars?: number
  /** The path for the result; undefined for a file that is not wanted. */
  readonly shownPath: (path: string) => string | undefined
}

/**
 * Collects the output of `--json`. Files arrive in any order. The first matches by path and line are kept, the others
 * are only counted, so that memory is bounded.
 */
export class LineResults {
  /** What was found, as text. */
  readonly text = new FoundText()
  /** The last matches of the file at hand, and of the last file by its path. */
  #own: FileEnd = { path: '', found: [] }
  #ending: FileEnd = this.#own
  readonly #options: LineResultsOptions
  readonly #keptMost: number
  readonly #splitter = new Splitter('\n', (record) => this.#take(record))
  #file: FileLines | undefined
  #kept: FileLines[] = []
  #keptMatches = 0
  #keptChars = 0
  /** Files after this path are not in the result. */
  #last: string | undefined
  #total = 0
  #files = 0

  constructor(options: LineResultsOptions) {
    this.#options = options
    this.#keptMost = options.keptChars ?? KEPT_CHARS
  }

  add(bytes: Buffer): boolean {
    return this.#splitter.add(bytes)
  }

  end(): Omit<LinesFound, 'unread'> {
    this.#prune()
    const matches = this.#matches()
    const rest = this.#options.saves && this.#total > matches.length ? { lastMatches: this.#ending.found } : {}
    return { total: this.#total, files: this.#files, counts: [], matches, ...rest }
  }

  #take(record: Buffer): true {
    const file = this.#file
    switch (recordType(record)) {
      case 'begin':
        this.#begin(record)
        break
      case 'match':
        if (file === undefined) break
        file.count++
        if (this.#options.saves) this.#save(file, record)
        if (file.shown && (file.matched.length < this.#options.limit || this.#options.context > 0)) {
          this.#keep(file, record)
        }
        break
      case 'context':
        if (file !== undefined && this.#options.saves) this.#save(file, record)
        if (file?.shown === true && this.#options.context > 0) this.#keep(file, record)
        break
      case 'end':
        this.#end()
        break
      default:
    }
    return true
  }

  #begin(record: Buffer): void {
    const begun = readRecord(record)
    const path = begun?.type === 'begin' ? this.#options.shownPath(begun.path.replace(/^\.\//, '')) : undefined
    if (path === undefined) {
      this.#file = undefined
      return
    }
    const shown = this.#last === undefined || path <= this.#last
    this.#file = { path, matched: [], lines: new Map(), chars: 0, count: 0, shown }
  }

  #save({ path }: FileLines, record: Buffer): void {
    const read = readRecord(record)
    if (read === undefined || read.type === 'begin') return this.text.miss()
    if (read.type === 'match') {
      if (path !== this.#own.path) this.#own = { path, found: [] }
      this.#own.found = [...this.#own.found, { path, line: read.line, text: read.text }].slice(-LAST)
      if (path >= this.#ending.path) this.#ending = this.#own
    }
    const mark = read.type === 'match' ? ':' : '-'
    const whole = read.cut ? readRecord(record, Infinity) as typeof read : read
    this.text.add(`${path}${mark}${read.line}${mark}${whole.text}${whole.cut ? ' […]' : ''}`)
    if (whole.cut) this.text.miss()
  }

  #keep(file: FileLines, record: Buffer): void {
    const read = readRecord(record)
    if (read === undefined || read.type === 'begin') return
    const { limit, context } = this.#options
    const isOpen = file.matched.length < limit
    // After the last kept match only its context matters.
    if (!isOpen && read.line > file.matched.at(-1)! + context) return
    if (file.chars > this.#keptMost) return
    file.chars += read.text.length + LINE_CHARS
    if (isOpen && read.type === 'match') file.matched.push(read.line)
    file.lines.set(read.line, read)
  }

  #end(): void {
    const file = this.#file
    this.#file = undefined
    if (file === undefined || file.count === 0) return
    this.#total += file.count
    this.#files++
    if (!file.shown) return
    this.#kept.push(file)
    this.#keptMatches += file.matched.length
    this.#keptChars += file.chars
    if (this.#keptMatches > 4 * this.#options.limit || this.#keptChars > 2 * this.#keptMost) this.#prune()
  }

  /** Drops files that cannot be in the result. */
  #prune(): void {
    let [matches, chars] = [0, 0]
    const isFull = (): boolean => matches >= this.#options.limit || chars >= this.#keptMost
    this.#kept = sorted(this.#kept).filter((file) => {
      if (isFull()) return false
      matches += file.matched.length
      chars += file.chars
      return true
    })
    if (isFull()) this.#last = this.#kept.at(-1)?.path
    this.#keptMatches = matches
    this.#keptChars = chars
  }

  #matches(): readonly LineFound[] {
    const { limit } = this.#options
    const matches: LineFound[] = []
    let room = ANSWER_CHARS
    for (const file of this.#kept) {
      for (const line of file.matched) {
        if (matches.length === limit || room <= 0) return matches
        const match = this.#found(file, line)
        const texts = [match.path, match.text, ...match.before ?? [], ...match.after ?? []]
        room -= texts.reduce((sum, text) => sum + text.length, 0)
        matches.push(match)
      }
    }
    return matches
  }

  #found({ path, lines }: FileLines, line: number): LineFound {
    const { context } = this.#options
    const { text, cut: isCut } = lines.get(line)!
    const next = line + text.split('\n').length
    const between = (from: number, to: number): readonly Line[] =>
      Array.from({ length: to - from }, (_, index) => lines.get(from + index)).filter((shown) => shown !== undefined)
    const [before, after] = [between(line - context, line), between(next, next + context)]
    const cut = isCut || [...before, ...after].some((shown) => shown.cut)
    return {
      path, line, text, ...(cut && { cut }), ...(before.length > 0 && { before: before.map((shown) => shown.text) }),
      ...(after.length > 0 && { after: after.map((shown) => shown.text) }),
    }
  }
}

/** Lines of text that wait to be saved. */
class FoundText {
  #lines: string[] = []
  #isCut = false

  get isCut(): boolean {
    return this.#isCut
  }

  add(line: string): void {
    this.#lines.push(line, '\n')
  }

  /** A line, or a part of it, is missing. */
  miss(): void {
    this.#isCut = true
  }

  /** Those since the last call. */
  taken(): Buffer {
    const text = Buffer.from(this.#lines.join(''))
    this.#lines = []
    return text
  }
}

/** Collects the output of `--count --null`: path, NUL, count, line end. */
export class CountResults {
  readonly text = new FoundText()
  readonly #saves: boolean
  readonly #limit: number
  readonly #shownPath: (path: string) => string | undefined
  readonly #splitter = new Splitter('\0', (piece) => this.#take(piece))
  #counts: { readonly path: string; readonly count: number }[] = []
  #last: { readonly path: string; readonly count: number }[] = []
  #path: string | undefined
  #open: Buffer = Buffer.alloc(0)
  #total = 0
  #files = 0

  constructor({ limit, saves = false, shownPath }: Pick<LineResultsOptions, 'limit' | 'saves' | 'shownPath'>) {
    this.#limit = limit
    this.#saves = saves
    this.#shownPath = shownPath
  }

  add(bytes: Buffer): boolean {
    // The count after the last path is not followed by a NUL.
    const last = bytes.lastIndexOf(0)
    this.#open = last < 0 ? Buffer.concat([this.#open, bytes]) : Buffer.from(bytes.subarray(last + 1))
    return this.#splitter.add(bytes)
  }

  end(): Omit<LinesFound, 'unread'> {
    this.#take(this.#open)
    this.#prune()
    const rest = this.#saves && this.#files > this.#counts.length ? { lastCounts: sorted(this.#last).slice(-LAST) } : {}
    return { total: this.#total, files: this.#files, counts: this.#counts, matches: [], ...rest }
  }

  /** A piece has the count of the previous file and the path of the next. */
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
    if (this.#saves) {
      this.text.add(`${path}:${count}`)
      if (this.#last.push({ path, count }) > 10 * LAST) this.#last = sorted(this.#last).slice(-LAST)
    }
    if (this.#counts.length > 4 * this.#limit) this.#prune()
  }

  #prune(): void {
    this.#counts = sorted(this.#counts).slice(0, this.#limit)
  }
}

const sorted = <Named extends { readonly path: string }>(all: readonly Named[]): Named[] =>
  all.toSorted((one, other) => one.path < other.path ? -1 : 1)
