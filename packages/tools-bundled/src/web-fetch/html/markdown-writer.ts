/**
 * Deeper levels get no further prefix, because prefixes on every line could make the output much longer than the input.
 */
const PREFIX_LEVELS = 8
/** Longer pages are cut. */
const MAX_CHARS = 4 * 1024 * 1024

/** Builds Markdown or plain text block by block, in linear time and space. */
export class MarkdownWriter {
  readonly plain: boolean
  readonly #blocks: string[] = []
  readonly #prefixes: string[] = []
  #marker: string | undefined
  #line: string[] = []
  #lastSpace = true
  #chars = 0
  /** No empty line before the next block. */
  #tight = false

  constructor(plain: boolean) {
    this.plain = plain
  }

  get isFull(): boolean {
    return this.#chars > MAX_CHARS
  }

  /** The length of the text so far. */
  get chars(): number {
    return this.#chars
  }

  /** Adds text and collapses its white space. */
  text(text: string): void {
    let collapsed = text.replaceAll(/[ \t\r\n\f]+/g, ' ')
    if (this.#lastSpace && collapsed.startsWith(' ')) collapsed = collapsed.slice(1)
    if (collapsed !== '') this.raw(collapsed)
  }

  /** Adds text unchanged. */
  raw(text: string): void {
    this.#line.push(text)
    this.#chars += text.length
    this.#lastSpace = /\s$/.test(text)
  }

  /** Adds Markdown syntax, unless the output is plain text. */
  mark(mark: string): void {
    if (!this.plain) this.#line.push(mark)
  }

  /** Ends the current block. */
  end(tight = false): void {
    const text = this.#line.join('').trim()
    this.#line = []
    this.#lastSpace = true
    const isEmpty = text === '' || text === EMPTY_MARKS
    if (!isEmpty) {
      const prefixes = this.#prefixes.slice(0, PREFIX_LEVELS)
      const rest = prefixes.join('')
      const first = this.#marker === undefined ? rest : prefixes.slice(0, -1).join('') + this.#marker
      this.#marker = undefined
      const lines = text.split('\n')
      if (this.#blocks.length > 0) this.#blocks.push(this.#tight ? '\n' : '\n\n')
      this.#blocks.push(lines.map((line, index) => (index === 0 ? first : rest) + line.trimEnd()).join('\n'))
    }
    this.#tight = tight && (this.#tight || !isEmpty)
  }

  /** Prefixes all lines until `leave`. `marker` replaces the prefix of the first line. */
  enter(prefix: string, marker?: string): void {
    this.#prefixes.push(prefix)
    this.#marker = marker
  }

  leave(): void {
    this.#prefixes.pop()
    this.#marker = undefined
  }

  toString(): string {
    this.end()
    return this.#blocks.join('')
  }
}

/** An empty bold element. */
const EMPTY_MARKS = '****'

const MAX_CELLS = 20_000

/** Collects the rows of a table. Each cell becomes a single line. */
export class TableWriter {
  readonly #rows: string[][] = []
  #cells = 0

  row(): void {
    this.#rows.push([])
  }

  cell(): void {
    if (this.#cells++ > MAX_CELLS) return
    if (this.#rows.length === 0) this.row()
    this.#rows.at(-1)!.push('')
  }

  text(text: string): void {
    const row = this.#rows.at(-1)
    if (row === undefined || row.length === 0) return
    row[row.length - 1] += text
  }

  toString(plain: boolean): string {
    const rows = this.#rows.filter((row) => row.length > 0)
      .map((row) => row.map((cell) => cell.replaceAll(/\s+/g, ' ').trim()))
    if (plain) return rows.map((row) => row.join('\t')).join('\n')
    const width = Math.min(Math.max(0, ...rows.map((row) => row.length)), 100)
    const written = rows.map((row) => {
      const cells = Array.from({ length: width }, (_, index) => (row[index] ?? '').replaceAll('|', '\\|'))
      return `| ${cells.join(' | ')} |`
    })
    return width === 0 ? '' : written.toSpliced(1, 0, `|${' --- |'.repeat(width)}`).join('\n')
  }
}
