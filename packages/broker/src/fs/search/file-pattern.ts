import { BulkheadError } from '@bulkhead/contract'
import { matchRow } from '@bulkhead/kit/glob'
import { alternativesOf } from '../glob-pattern.ts'

/** A pattern over paths below a folder, ready to be asked often. */
export interface FilePattern {
  readonly text: string
  matches(path: string): boolean
  /** Folders that whatever it matches lies in; empty when there is none. */
  readonly folder: readonly string[]
}

/**
 * `*` and `?` stay inside one name, `**` crosses folders, `{a,b}` is either, and `[ab]` is one of these characters or the
 * brackets as they are, because folders are called so. Linear in pattern × path: no regular expression is made from it.
 * Throws InputInvalid for what can match nothing.
 */
export function compileFilePattern(pattern: string): FilePattern {
  if (pattern.startsWith('!')) {
    const why = `The pattern "${pattern}" begins with "!", which leaves nothing out here. Say which files are wanted.`
    throw new BulkheadError('InputInvalid', why)
  }
  // What lies below a folder is not the folder.
  const alternatives = alternativesOf(pattern).map((parts) => parts.length > 1 && parts.at(-1) === '**' ? [...parts, '*'] : parts)
  const tests = alternatives.map((parts) => parts.map(compilePart))
  const [only] = alternatives.length === 1 ? alternatives : []
  const folder = only?.slice(0, Math.min(only.length - 1, only.findIndex(isWild) >>> 0)) ?? []
  return {
    text: pattern,
    folder,
    matches(path) {
      const name = path.slice(path.lastIndexOf('/') + 1)
      // The last name alone tells of most paths that they are not meant.
      return tests.some((parts) => {
        const last = parts.at(-1)
        return (typeof last !== 'function' || last(name)) && matchNames(parts, path.split('/'))
      })
    },
  }
}

type NameTest = ((name: string) => boolean) | typeof ANY_FOLDERS
const ANY_FOLDERS = Symbol('**')

const isWild = (part: string): boolean => /[*?[]/.test(part)

const matchNames = (parts: readonly NameTest[], names: readonly string[]): boolean =>
  matchRow<NameTest, string>(parts, names, ANY_FOLDERS, (part, name) => typeof part === 'function' && part(name))

function compilePart(part: string): NameTest {
  if (part === '**') return ANY_FOLDERS
  if (!isWild(part)) return (name) => name === part
  if (/^\*+$/.test(part)) return () => true
  const literal = /^\*([^*?[]+)$/.exec(part)?.[1]
  if (literal !== undefined) return (name) => name.endsWith(literal)
  const tokens = [tokensOf(part, true), ...(part.includes('[') ? [tokensOf(part, false)] : [])]
  return (name) => {
    const chars = Array.from(name)
    return tokens.some((list) => matchChars(list, chars))
  }
}

type CharTest = string | ((char: string) => boolean) | typeof ANY_CHARS
const ANY_CHARS = Symbol('*')
const anyChar = (): boolean => true

const matchChars = (tokens: readonly CharTest[], chars: readonly string[]): boolean =>
  matchRow<CharTest, string>(tokens, chars, ANY_CHARS, (token, char) => (typeof token === 'function' ? token(char) : token === char))

function tokensOf(part: string, sets: boolean): readonly CharTest[] {
  return Array.from(part.matchAll(/\[([!^]?)(\]?[^\]]*)\]|[^]/gu)).flatMap(([text, negated, members]): readonly CharTest[] => {
    if (text === '*') return [ANY_CHARS]
    if (text === '?') return [anyChar]
    return sets && members ? [charSet(members, negated !== '')] : Array.from(text)
  })
}

function charSet(members: string, negated: boolean): (char: string) => boolean {
  const ranges = Array.from(members.matchAll(/([^])-([^])|[^]/gu), ([text, low = text, high = text]) => [low, high] as const)
  const code = (char: string): number => char.codePointAt(0)!
  return (char) => ranges.some(([low, high]) => code(char) >= code(low) && code(char) <= code(high)) !== negated
}
