import { sha512 } from './digest.ts'

const LONGEST = 64
const MARK = 8

/** Words in letters that every model API takes, `between` them. What would be too long is told apart by a digest. */
export function toolName(words: readonly string[], between = '_'): string {
  const written = words.join(between).replaceAll(/[^A-Za-z0-9_]/g, '_')
  const name = /^[A-Za-z]/.test(written) ? written : `op_${written}`
  return name.length <= LONGEST ? name : `${name.slice(0, LONGEST - MARK - 1)}_${sha512(words.join('\0')).slice(0, MARK)}`
}
