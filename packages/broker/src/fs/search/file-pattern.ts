import { BulkheadError } from '@bulkhead/contract'
import { compileGlob, matchRow, type GlobMatch } from '@bulkhead/kit/glob'

/** A compiled pattern over paths below a folder. */
export interface FilePattern {
  readonly text: string
  matches(path: string): boolean
  /** The folders that the pattern begins with. */
  readonly folder: readonly string[]
}

/**
 * `*` and `?` match within one name, `**` across folders, `{a,b}` are alternatives, and `[ab]` is a character class or
 * the literal brackets, because folder names contain them. Matching takes pattern × path steps; no regular expression
 * is used. Throws InputInvalid for a pattern that cannot match.
 */
export function compileFilePattern(pattern: string): FilePattern {
  if (pattern.startsWith('!')) {
    const why = `The pattern "${pattern}" begins with "!". Exclusion is not supported; describe the files you want.`
    throw new BulkheadError('InputInvalid', why)
  }
  // `folder/**` does not match the folder itself.
  const alternatives = alternativesOf(pattern).map((parts) =>
    parts.length > 1 && parts.at(-1) === '**' ? [...parts, '*'] : parts)
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
  matchRow<CharTest, string>(tokens, chars, ANY_CHARS, (token, char) =>
    (typeof token === 'function' ? token(char) : token === char))

function tokensOf(part: string, sets: boolean): readonly CharTest[] {
  const parts = Array.from(part.matchAll(/\[([!^]?)(\]?[^\]]*)\]|[^]/gu))
  return parts.flatMap(([text, negated, members]): readonly CharTest[] => {
    if (text === '*') return [ANY_CHARS]
    if (text === '?') return [anyChar]
    return sets && members ? [charSet(members, negated !== '')] : Array.from(text)
  })
}

function charSet(members: string, negated: boolean): (char: string) => boolean {
  const matches = members.matchAll(/([^])-([^])|[^]/gu)
  const ranges = Array.from(matches, ([text, low = text, high = text]) => [low, high] as const)
  const code = (char: string): number => char.codePointAt(0)!
  return (char) => ranges.some(([low, high]) => code(char) >= code(low) && code(char) <= code(high)) !== negated
}

/** A name that ripgrep interprets in the same way. */
const PLAIN_NAME = /^[\w.*{},-]+$/

/**
 * Options that make ripgrep skip files whose name cannot match; none if ripgrep might interpret the pattern
 * differently. A file type and not a glob, because a glob overrides ignore files.
 */
export function narrowingArguments(pattern: string): readonly string[] {
  const name = pattern.slice(pattern.lastIndexOf('/') + 1)
  const isWhole = name === pattern || !/[{}]/.test(pattern)
  const isSelective = PLAIN_NAME.test(name) && !/^(?:\*+|\.+)$|\*\*/.test(name)
  return isWhole && isSelective ? [`--type-add=wanted:${name}`, '--type=wanted'] : []
}

const PATTERN_CHARS = 1_024
/** Strings that the braces of a pattern may expand to. */
const ALTERNATIVES = 64

/**
 * Compiles a pattern over paths below a folder: `*` within one name, `**` across folders, `{a,b}` alternatives. All
 * else is literal, brackets and question marks too, because names contain them. Throws InputInvalid for a pattern that
 * cannot match.
 */
export function compileGlobPattern(pattern: string): (names: readonly string[]) => GlobMatch {
  const tests = alternativesOf(pattern).map((names) => compileGlob(names.join('/'), { below: false }))
  return (names) => {
    const matches = tests.map((test) => test(names))
    return { covers: matches.some(({ covers }) => covers), leads: matches.some(({ leads }) => leads) }
  }
}

/** The components of each expansion of a pattern. Throws InputInvalid if it leaves its folder. */
function alternativesOf(pattern: string): readonly (readonly string[])[] {
  if (pattern === '' || pattern.length > PATTERN_CHARS || pattern.includes('\0')) {
    throw new BulkheadError(
      'InputInvalid',
      `The pattern is empty, longer than ${PATTERN_CHARS} characters, or contains a NUL.`,
    )
  }
  return expandBraces(pattern).map((alternative) => {
    const names = alternative.split('/').filter((name, index) => name !== '.' && (name !== '' || index === 0))
    if (names[0] === '' || names.includes('..')) {
      throw new BulkheadError('InputInvalid', `The pattern "${pattern}" must not begin with "/" or contain "..".`)
    }
    return names
  })
}

/** Expands braces. Braces that do not close, or contain no comma, are literal. */
export function expandBraces(pattern: string): readonly string[] {
  const found = firstBraces(pattern)
  if (found === undefined) return [pattern]
  const { before, choices, after } = found
  const tails = expandBraces(after)
  const expanded = choices.flatMap(expandBraces).flatMap((choice) => tails.map((tail) => before + choice + tail))
  if (expanded.length > ALTERNATIVES) {
    throw new BulkheadError(
      'InputInvalid',
      `The braces of the pattern expand to more than ${ALTERNATIVES} strings. Split the search.`,
    )
  }
  return expanded
}

interface Braces {
  readonly before: string
  readonly choices: readonly string[]
  readonly after: string
}

function firstBraces(pattern: string): Braces | undefined {
  for (let open = pattern.indexOf('{'); open >= 0; open = pattern.indexOf('{', open + 1)) {
    const choices: string[] = []
    let depth = 0
    let from = open + 1
    for (let at = open + 1; at < pattern.length; at++) {
      const char = pattern[at]
      if (char === '{') depth++
      else if (char === '}' && depth > 0) depth--
      else if (depth === 0 && (char === ',' || char === '}')) {
        choices.push(pattern.slice(from, at))
        from = at + 1
        if (char === '}') break
      }
    }
    const closed = pattern[from - 1] === '}' && from > open + 1
    if (closed && choices.length > 1) return { before: pattern.slice(0, open), choices, after: pattern.slice(from) }
  }
  return undefined
}

/** Time for all searches together in one turn of the event loop. */
const SLICE_MS = 10

const waiting: (() => void)[] = []
let ends = -Infinity

/**
 * Whether searches have used up their time in this turn. Pattern and names are untrusted: the cost of one match is
 * bounded, their number is not. Call it before each match.
 */
export const isSliceSpent = (): boolean => performance.now() > ends

/** Resolves in a later turn. First come, first served. */
export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(begin)
  })
}

function begin(): void {
  ends = performance.now() + SLICE_MS
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(begin)
}
