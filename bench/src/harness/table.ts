import type { Paint, Style } from './paint.ts'

export interface Cell {
  readonly text: string
  readonly style?: Style
}

export interface Column {
  readonly title: string
  readonly align: 'left' | 'right'
}

const GAP = '   '

/** Lines of equal columns. Cells are padded before they are painted, since colours have no width. */
export function renderTable(columns: readonly Column[], rows: readonly (readonly Cell[])[], paint: Paint): string[] {
  const widths = columns.map(({ title }, at) => Math.max(title.length, ...rows.map((row) => row[at]?.text.length ?? 0)))
  const line = (cells: readonly Cell[]) => columns
    .map(({ align }, at) => {
      const { text, style } = cells[at] ?? { text: '' }
      const width = widths[at] ?? 0
      const padded = align === 'left' ? text.padEnd(width) : text.padStart(width)
      return style === undefined ? padded : paint(style, padded)
    })
    .join(GAP)
    .trimEnd()
  return [line(columns.map(({ title }) => ({ text: title, style: 'dim' }))), ...rows.map(line)]
}
