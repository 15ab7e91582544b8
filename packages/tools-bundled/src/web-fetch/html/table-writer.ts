const MAX_CELLS = 20_000

/** The rows of a table, each cell as one line of text. */
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
    const rows = this.#rows.filter((row) => row.length > 0).map((row) => row.map((cell) => cell.replaceAll(/\s+/g, ' ').trim()))
    if (plain) return rows.map((row) => row.join('\t')).join('\n')
    const width = Math.min(Math.max(0, ...rows.map((row) => row.length)), 100)
    const written = rows.map((row) => {
      const cells = Array.from({ length: width }, (_, index) => (row[index] ?? '').replaceAll('|', '\\|'))
      return `| ${cells.join(' | ')} |`
    })
    return width === 0 ? '' : written.toSpliced(1, 0, `|${' --- |'.repeat(width)}`).join('\n')
  }
}
