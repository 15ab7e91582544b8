import type { LineFound, LinesFound } from '@bulkhead/contract'
import { readRecord, recordType, Splitter } from './records.ts'

/** Of all that is shown, in characters. */
const ANSWER_CHARS = 4 * 1024 * 1024
/** Of what may be shown, with what it takes to keep a line: with much around each match, that is most of what is searched. */
const KEPT_CHARS = 4 * ANSWER_CHARS
const LINE_CHARS = 64

interface Line {
  readonly text: string
  readonly cut: boolean
}

interface FileLines {
  readonly path: string
  /** Whether its matches may be among those that are shown. */
  readonly shown: boolean
  readonly matched: number[]
  /** Texts of matches and of what is around them. */
  readonly lines: Map<number, Line>
  chars: number
  count: number
}

export interface FoundLinesOptions {
  readonly limit: number
  readonly context: number
  /** Of what may be shown, more than which is not kept. */
  readonly keptChars?: number
  /** The path to show for one that was found; undefined when it is not wanted. */
  readonly shownPath: (path: string) => string | undefined
}

/**
 * Collects what ripgrep says with `--json`. Files come in any order; of all their matches the first by path and line are
 * kept, the others are counted unread, and memory is bounded by what is kept.
 */
export class FoundLines {
  readonly #options: FoundLinesOptions
  readonly #keptMost: number
  readonly #splitter = new Splitter('\n', (record) => this.#take(record))
  #file: FileLines | undefined
  #kept: FileLines[] = []
  #keptMatches = 0
  #keptChars = 0
  /** What comes after this path is not shown: enough comes before. */
  #last: string | undefined
  #total = 0
  #files = 0

  constructor(options: FoundLinesOptions) {
    this.#options = options
    this.#keptMost = options.keptChars ?? KEPT_CHARS
  }

  add(bytes: Buffer): boolean {
    return this.#splitter.add(bytes)
  }

  end(): Omit<LinesFound, 'unread'> {
    this.#prune()
    return { total: this.#total, files: this.#files, counts: [], matches: this.#matches() }
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
        if (file.shown && (file.matched.length < this.#options.limit || this.#options.context > 0)) this.#keep(file, record)
        break
      case 'context':
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
    this.#file = path === undefined ? undefined
      : { path, matched: [], lines: new Map(), chars: 0, count: 0, shown: this.#last === undefined || path <= this.#last }
  }

  #keep(file: FileLines, record: Buffer): void {
    const read = readRecord(record)
    if (read === undefined || read.type === 'begin') return
    const { limit, context } = this.#options
    const isOpen = file.matched.length < limit
    // Beyond the last match that is kept only what is around it matters.
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

  /** Drops files that others come before with all that may be shown. */
  #prune(): void {
    let [matches, chars] = [0, 0]
    const isFull = (): boolean => matches >= this.#options.limit || chars >= this.#keptMost
    this.#kept = this.#kept.toSorted((one, other) => (one.path < other.path ? -1 : 1)).filter((file) => {
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
        room -= [match.path, match.text, ...match.before ?? [], ...match.after ?? []].reduce((sum, text) => sum + text.length, 0)
        matches.push(match)
      }
    }
    return matches
  }

  #found({ path, lines }: FileLines, line: number): LineFound {
    const { context } = this.#options
    const { text, cut } = lines.get(line)!
    const next = line + text.split('\n').length
    const between = (from: number, to: number): readonly string[] =>
      Array.from({ length: to - from }, (_, index) => lines.get(from + index)?.text).filter((shown) => shown !== undefined)
    const [before, after] = [between(line - context, line), between(next, next + context)]
    return {
      path, line, text, ...(cut && { cut }), ...(before.length > 0 && { before }), ...(after.length > 0 && { after }),
    }
  }
}
