import { matchRow } from './glob.ts'

/** Decides like git which paths a file in gitignore syntax excludes. Takes time linear in pattern × path. */
export class Gitignore {
  readonly #patterns: readonly IgnorePattern[]

  /** Throws a RangeError that names the first line that git would not match with anything. */
  constructor(text: string) {
    this.#patterns = text.replace(/^\uFEFF/, '').split(/\r?\n/).flatMap((line, index) => readLine(line, index + 1))
  }

  /**
   * The line that excludes a path, as written. `names`: below the folder of the file. `isFolder` is called if a line is
   * about folders only. What is in an excluded folder cannot be included again.
   */
  lineFor(names: readonly string[], isFolder: () => boolean): string | undefined {
    for (let end = 1; end <= names.length; end++) {
      const path = names.slice(0, end)
      const isPathFolder = end < names.length ? () => true : isFolder
      const last = this.#patterns.findLast((pattern) => pattern.matches(path) && (!pattern.isOfFolders || isPathFolder()))
      if (last !== undefined && !last.isNegated) return last.line
    }
    return undefined
  }
}

interface IgnorePattern {
  readonly line: string
  readonly isNegated: boolean
  /** It ends in a slash. */
  readonly isOfFolders: boolean
  matches(names: readonly string[]): boolean
}

/** One character of a name: any, itself, or one of several. */
type Token = typeof STAR | ((char: string) => boolean)
const STAR = Symbol('*')
/** Any number of folders. */
const FOLDERS = Symbol('**')

const isFolders = (part: string): boolean => /^\*{2,}$/.test(part)

/** Spaces at the end of a line do not count, except one after a backslash. */
function withoutSpaces(line: string): string {
  let end = line.length
  while (line[end - 1] === ' ' && line[end - 2] !== '\\') end--
  return line.slice(0, end)
}

function readLine(line: string, number: number): readonly IgnorePattern[] {
  const kept = withoutSpaces(line)
  if (kept === '' || kept.startsWith('#')) return []
  const isNegated = kept.startsWith('!')
  const body = isNegated ? kept.slice(1) : kept
  const isOfFolders = body.endsWith('/')
  const pattern = isOfFolders ? body.slice(0, -1) : body
  const isAnchored = pattern.includes('/')
  const parts = pattern.replace(/^\//, '').split('/')
  const whole = [
    ...(isAnchored ? [] : ['**']), ...parts,
    // What is in the folder, and not the folder itself.
    ...(isAnchored && isFolders(parts.at(-1)!) ? ['*'] : []),
  ]
  const segments = whole.map((part) => isFolders(part) ? FOLDERS : readSegment(part, `Line ${number}, "${line}",`))
  const fits = (segment: readonly Token[] | typeof FOLDERS, name: readonly string[]): boolean =>
    segment !== FOLDERS && matchRow<Token, string>(segment, name, STAR, (token, char) => token !== STAR && token(char))
  return [{
    line: kept, isNegated, isOfFolders,
    matches: (names) => matchRow<readonly Token[] | typeof FOLDERS, readonly string[]>(
      segments, names.map((name) => Array.from(name)), FOLDERS, fits),
  }]
}

function readSegment(text: string, where: string): readonly Token[] {
  const chars = Array.from(text)
  const tokens: Token[] = []
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at]!
    if (char === '*') tokens.push(STAR)
    else if (char === '?') tokens.push(() => true)
    else if (char === '\\') tokens.push(literal(chars[++at] ?? fault(`${where} ends in a backslash`)))
    else if (char === '[') {
      const { token, end } = readClass(chars, at, where)
      tokens.push(token)
      at = end
    } else tokens.push(literal(char))
  }
  return tokens
}

const literal = (wanted: string): Token => (char) => char === wanted

const CLASSES: Readonly<Record<string, RegExp>> = {
  alpha: /[a-z]/i, digit: /\d/, alnum: /[a-z\d]/i, upper: /[A-Z]/, lower: /[a-z]/, space: /\s/, blank: /[ \t]/,
  punct: /[!-/:-@[-`{-~]/, xdigit: /[\da-f]/i, print: /[ -~]/, graph: /[!-~]/, cntrl: /\p{Cc}/u,
}

/** `[a-z]`, `[!a]`, `[[:digit:]]`. A bracket at its start is one of the characters. */
function readClass(chars: readonly string[], start: number, where: string): { readonly token: Token; readonly end: number } {
  let at = start + 1
  const isExcluding = chars[at] === '!' || chars[at] === '^'
  if (isExcluding) at++
  const tests: ((char: string) => boolean)[] = []
  for (let first = true; first || chars[at] !== ']'; first = false) {
    if (at >= chars.length) fault(`${where} has a bracket without its pair`)
    const named = /^\[:([a-z]+):\]/.exec(chars.slice(at, at + 12).join(''))
    if (named) {
      const pattern = CLASSES[named[1]!] ?? fault(`${where} names no known class of characters`)
      tests.push((char) => pattern.test(char))
      at += named[0].length
      continue
    }
    const read = (): string => {
      if (chars[at] === '\\') at++
      return chars[at++] ?? fault(`${where} has a bracket without its pair`)
    }
    const from = read()
    const isRange = chars[at] === '-' && chars[at + 1] !== ']' && chars[at + 1] !== undefined
    if (isRange) at++
    const to = isRange ? read() : from
    tests.push((char) => char >= from && char <= to)
  }
  return { token: (char) => tests.some((test) => test(char)) !== isExcluding, end: at }
}

function fault(message: string): never {
  throw new RangeError(message)
}
