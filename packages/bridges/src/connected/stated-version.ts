import { sha512 } from './digest.ts'

/** The version that a stranger states, as far as it is one; behind it a mark of what else makes it another than before. */
export function statedVersion(stated: string, marks: readonly string[]): string {
  const [found] = /^\d{1,6}\.\d{1,6}\.\d{1,6}(?![\d.])/.exec(stated) ?? []
  const exact = found?.split('.').map(Number).join('.') ?? '0.0.0'
  return `${exact}+${sha512(marks.join('\0')).slice(0, 12)}`
}
