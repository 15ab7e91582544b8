import { refused } from './patch.ts'

/** How much a line may differ from the patch, from nothing to all white space around it. */
export const FUZZ = ['none', 'line_ends', 'trailing_whitespace', 'whitespace'] as const
export type Fuzz = (typeof FUZZ)[number]

const MOST_LINES = 500_000
/** Compared lines of one patch. The host waits. */
const MOST_COMPARED = 20_000_000

/** Counts the work of one patch. */
export class Effort {
  #compared = 0

  add(lines: number): void {
    this.#compared += lines
    if (this.#compared > MOST_COMPARED) {
      throw refused('The patch has too many hunks for files of this size. Split it, or write the files.')
    }
  }
}

/** Lines with their line ends. Throws InputInvalid if there are too many. */
export function splitLines(content: string, path: string): readonly string[] {
  const lines: string[] = []
  for (let at = 0; at < content.length;) {
    const end = content.indexOf('\n', at) + 1 || content.length
    lines.push(content.slice(at, end))
    if (lines.length > MOST_LINES) throw refused(`"${path}" has more than ${MOST_LINES} lines. Use \`edit\`.`)
    at = end
  }
  return lines
}

/** Finds consecutive lines of one file, in linear time: both the file and the patch are untrusted. */
export class LineFinder {
  readonly #lines: readonly string[]
  readonly #effort: Effort
  /** By fuzz: a number for each line. Lines with the same number count as equal. */
  readonly #numbered = new Map<Fuzz, { readonly ids: Int32Array; readonly byText: ReadonlyMap<string, number> }>()

  constructor(lines: readonly string[], effort: Effort) {
    this.#lines = lines
    this.#effort = effort
  }

  isAt(sought: readonly string[], at: number, fuzz: Fuzz): boolean {
    if (at < 0 || at + sought.length > this.#lines.length) return false
    this.#effort.add(sought.length)
    return sought.every((line, index) => comparable(line, fuzz) === comparable(this.#lines[at + index]!, fuzz))
  }

  /** At most `most` places from `start` on. Contract: `sought` is not empty. */
  find(sought: readonly string[], start: number, fuzz: Fuzz, most: number): readonly number[] {
    const { ids, byText } = this.#number(fuzz)
    const wanted = Int32Array.from(sought, (line) => byText.get(comparable(line, fuzz)) ?? -1)
    if (wanted.includes(-1)) return []
    this.#effort.add(ids.length - start + wanted.length)
    const borders = bordersOf(wanted)
    const places: number[] = []
    for (let at = start, matched = 0; at < ids.length && places.length < most; at++) {
      while (matched > 0 && ids[at] !== wanted[matched]) matched = borders[matched - 1]!
      if (ids[at] === wanted[matched]) matched++
      if (matched < wanted.length) continue
      places.push(at + 1 - matched)
      matched = borders[matched - 1]!
    }
    return places
  }

  /** The first line that is nowhere in the file. */
  missing(sought: readonly string[]): string | undefined {
    const { byText } = this.#number('whitespace')
    return sought.find((line) => !byText.has(comparable(line, 'whitespace')))
  }

  #number(fuzz: Fuzz): { readonly ids: Int32Array; readonly byText: ReadonlyMap<string, number> } {
    const known = this.#numbered.get(fuzz)
    if (known !== undefined) return known
    this.#effort.add(this.#lines.length)
    const byText = new Map<string, number>()
    const ids = Int32Array.from(this.#lines, (line) => {
      const text = comparable(line, fuzz)
      const id = byText.get(text) ?? byText.size
      byText.set(text, id)
      return id
    })
    this.#numbered.set(fuzz, { ids, byText })
    return { ids, byText }
  }
}

/** For each prefix: the length of its longest proper prefix that is also a suffix. */
function bordersOf(ids: Int32Array): Int32Array {
  const borders = new Int32Array(ids.length)
  for (let at = 1, length = 0; at < ids.length; at++) {
    while (length > 0 && ids[at] !== ids[length]) length = borders[length - 1]!
    if (ids[at] === ids[length]) length++
    borders[at] = length
  }
  return borders
}

export const lineEndOf = (line: string): '' | '\n' | '\r\n' =>
  line.endsWith('\r\n') ? '\r\n' : line.endsWith('\n') ? '\n' : ''

export const withoutLineEnd = (line: string): string => line.slice(0, line.length - lineEndOf(line).length)

/** The part of a line that is compared. Only ASCII white space: these may be bytes of other characters. */
export function comparable(line: string, fuzz: Fuzz): string {
  if (fuzz === 'none') return line
  const text = withoutLineEnd(line)
  if (fuzz === 'line_ends') return text
  let [start, end] = [0, text.length]
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  if (fuzz === 'whitespace') while (start < end && isBlank(text.charCodeAt(start))) start++
  return text.slice(start, end)
}

const isBlank = (code: number): boolean => code === 32 || (code >= 9 && code <= 13)
