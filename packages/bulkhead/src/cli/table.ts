import { styleText } from 'node:util'
import { visibleText } from '@bulkhead/contract/plain'

/** Columns as wide as they need to be; the last takes what is left. Text of strangers is made visible first. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const clean = rows.map((row) => row.map((cell) => visibleText(cell)))
  const widths = headings.map((heading, index) => Math.max(heading.length, ...clean.map((row) => row[index]?.length ?? 0)))
  const line = (cells: readonly string[]) => cells.map((cell, index) => index === cells.length - 1 ? cell : cell.padEnd(widths[index]!)).join('  ')
  return [styleText('bold', line(headings)), ...clean.map(line)].join('\n') + '\n'
}
