import { sha512 } from './entries.ts'

const LONGEST = 64
const MARK = 8

/** Words in letters that every model API takes, `between` them. What would be too long is told apart by a digest. */
export function toolName(words: readonly string[], between = '_'): string {
  const written = words.join(between).replaceAll(/[^A-Za-z0-9_]/g, '_')
  const name = /^[A-Za-z]/.test(written) ? written : `op_${written}`
  return name.length <= LONGEST ? name : `${name.slice(0, LONGEST - MARK - 1)}_${sha512(words.join('\0')).slice(0, MARK)}`
}

const LABEL_CHARS = 128

/** What a stranger says of itself, where it says anything. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.toWellFormed() : undefined

export const cut = (text: string, most: number): string => text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`

export const labelOf = (text: string | undefined): { readonly label?: string } =>
  text === undefined ? {} : { label: cut(text, LABEL_CHARS) }

/** The version that a stranger states, as far as it is one; behind it a mark of what else makes it another than before. */
export function statedVersion(stated: string, marks: readonly string[]): string {
  const [found] = /^\d{1,6}\.\d{1,6}\.\d{1,6}(?![\d.])/.exec(stated) ?? []
  const exact = found?.split('.').map(Number).join('.') ?? '0.0.0'
  return `${exact}+${sha512(marks.join('\0')).slice(0, 12)}`
}
