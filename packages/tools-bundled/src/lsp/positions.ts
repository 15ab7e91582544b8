import type { TextPosition } from '@bulkhead/contract'

/** The lines of a text as the Language Server Protocol counts them. */
export const linesOf = (text: string): readonly string[] => text.split(/\r\n|\n|\r/)

/**
 * The place of a line and a column, both from 1. A column counts characters, while the protocol counts UTF-16 code
 * units. undefined if the line has fewer characters.
 */
export function positionAt(lines: readonly string[], line: number, column: number): TextPosition | undefined {
  const text = lines[line - 1]
  if (text === undefined) return undefined
  const characters = [...text]
  if (column > characters.length + 1) return undefined
  return { line: line - 1, character: characters.slice(0, column - 1).join('').length }
}

/** The column, from 1, of a place in a line. */
export const columnAt = (line: string, character: number): number => [...line.slice(0, character)].length + 1
