import { BulkheadError } from '@bulkhead/contract'
import { matchRow } from '@bulkhead/kit/glob'
import { alternativesOf } from '../glob.ts'

/** A compiled pattern over paths below a folder. */
export interface FilePattern {
  readonly text: string
  matches(path: string): boolean
  /** The folders that the pattern begins with. */
  readonly folder: readonly string[]
}

/**
 * `*` and `?` match within one name, `**` across folders, `{a,b}` are alternatives, and `[ab]` is a character class or the
 * literal brackets, because folder names contain them. Matching takes pattern × path steps; no regular expression is used.
 * Throws InputInvalid for a pattern that cannot match.
 */
export function compileFilePattern(pattern: string): FilePattern {
  if (pattern.startsWith('!')) {
    const why = `The pattern "${pattern}" begins with "!". Exclusion is not supported; describe the files you want.`
    throw new BulkheadError('InputInvalid', why)
  }
  // `folder/**` does not match the folder itself.
  const alternatives = alternativesOf(pattern).map((parts) => parts.length > 1 && parts.at(-1) === '**' ? [...parts, '*'] : parts)
  const tests = alternatives.map((parts) => parts.map(compilePart))
  const [only] = alternatives.length === 1 ? alternatives : []
  const folder = only?.slice(0, Math.min(only.length - 1, only.findIndex(isWild) >>> 0)) ?? []
  return {
    text: pattern,
    folder,
    matches(path) {
      const name = path.slice(path.lastIndexOf('/') + 1)
      // The last name alone excludes most paths.
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

/** A name that ripgrep interprets in the same way. */
const PLAIN_NAME = /^[\w.*{},-]+$/

/**
 * Options that make ripgrep skip files whose name cannot match; none if ripgrep might interpret the pattern differently. A
 * file type and not a glob, because a glob overrides ignore files.
 */
export function narrowingArguments(pattern: string): readonly string[] {
  const name = pattern.slice(pattern.lastIndexOf('/') + 1)
  const isWhole = name === pattern || !/[{}]/.test(pattern)
  const tells = PLAIN_NAME.test(name) && !/^(?:\*+|\.+)$|\*\*/.test(name)
  return isWhole && tells ? [`--type-add=wanted:${name}`, '--type=wanted'] : []
}
