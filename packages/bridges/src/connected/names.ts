import { sha512 } from './entries.ts'

const LONGEST = 64
const MARK = 8

/** Joins words with `between`, using only characters that every model API accepts. Long names end in a digest. */
export function toolName(words: readonly string[], between = '_'): string {
  const written = words.join(between).replaceAll(/[^A-Za-z0-9_]/g, '_')
  const name = /^[A-Za-z]/.test(written) ? written : `op_${written}`
  return name.length <= LONGEST ? name : `${name.slice(0, LONGEST - MARK - 1)}_${sha512(words.join('\0')).slice(0, MARK)}`
}

const LABEL_CHARS = 128

/** Untrusted metadata of a server or document, if present. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.toWellFormed() : undefined

export const cut = (text: string, most: number): string => text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`

export const labelOf = (text: string | undefined): { readonly label?: string } =>
  text === undefined ? {} : { label: cut(text, LABEL_CHARS) }

/** The stated version, if it is valid, with a suffix that changes with the rest of the definition. */
export function statedVersion(stated: string, marks: readonly string[]): string {
  const [found] = /^\d{1,6}\.\d{1,6}\.\d{1,6}(?![\d.])/.exec(stated) ?? []
  const exact = found?.split('.').map(Number).join('.') ?? '0.0.0'
  return `${exact}+${sha512(marks.join('\0')).slice(0, 12)}`
}
