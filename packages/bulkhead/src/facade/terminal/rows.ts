import { visibleText } from '@bulkhead/kit/text'

/** How much a screen holds. */
export interface Screen {
  readonly columns: number
  readonly rows: number
}

/** Of a stream that does not tell, what every terminal has had. */
export function screenOf(output: { readonly columns?: number | undefined; readonly rows?: number | undefined }): Screen {
  return { columns: Math.max(output.columns || 80, 20), rows: Math.max(output.rows || 24, 16) }
}

/**
 * A stranger's text as rows of the screen. A terminal would break a long line by itself, and what comes after the break would
 * begin a row as if it were ours; so it is broken here, and every row begins with a mark: `first`, or `next` where a line goes on.
 */
export function rowsOf(text: string, { columns }: Screen, first: string, next: string): readonly string[] {
  return visibleText(text, { keepLines: true }).replaceAll('\t', '    ').split('\n').flatMap((line) => {
    const pieces = broken(line, columns - 1 - Math.max(first.length, next.length))
    return pieces.map((piece, index) => (index === 0 ? first : next) + piece)
  })
}

/** What is not plain may be two columns wide, and is counted so: rather broken too early than by the terminal. */
function broken(line: string, width: number): readonly string[] {
  const pieces: string[] = []
  let piece = ''
  let used = 0
  for (const char of line) {
    const wide = char >= ' ' && char <= '~' ? 1 : 2
    if (used + wide > width) {
      pieces.push(piece)
      piece = ''
      used = 0
    }
    piece += char
    used += wide
  }
  return [...pieces, piece]
}

/** As many rows as there is room for, from both ends, and between them how many are missing: what is hidden is said. */
export function clipped(rows: readonly string[], room: number): readonly string[] {
  if (rows.length <= room) return rows
  const tail = Math.min(3, Math.floor(room / 3))
  const hidden = rows.slice(room - tail - 1, rows.length - tail)
  const chars = hidden.reduce((sum, row) => sum + row.length, 0)
  const note = `  … ${hidden.length} rows with about ${chars} characters are left out here …`
  return [...rows.slice(0, room - tail - 1), note, ...rows.slice(rows.length - tail)]
}
