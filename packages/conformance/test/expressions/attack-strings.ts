import type { Expression } from './expressions-in.ts'

/** One letter of every kind that expressions distinguish. */
const ALPHABET = [
  ...Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)),
  '\t', '\n', '\r', '\0', '\x1b', '\x7f', '\u00a0', '\u00ad', '\u00e9', '\u200b', '\u2028', '\u202e', '\u6f22',
  '\ud800', '\u{1f600}', '\u{e0041}',
]
/** Most expressions fail at one of these endings and then try every other match of the part before it. */
const ENDINGS = ['', '\0', '\n!']
const LETTERS_OF_CLASS = 3
const MOST_BEGINNINGS = 12
const MOST_LEADS = 4
const MOST_PAIRED = 10

/** A repeated string between a lead, which matches the start of the expression, and an ending. */
export interface Attack {
  readonly lead: string
  readonly repeated: string
  readonly ending: string
}

/**
 * Attacks on every part of an expression that can match repeatedly: each letter that a part matches after each lead,
 * each pair of letters, and each prefix of a match of the whole expression.
 */
export function attacksOn({ pattern, flags }: Expression): readonly Attack[] {
  const parts = partsOf(pattern).map((part) => lettersOf(part, flags)).filter((letters) => letters.length > 0)
  const beginning = (end: number, variant: number): string =>
    parts.slice(0, end).map((letters) => letters[variant % letters.length]!).join('')
  const firsts = [...new Set(parts.map((letters) => letters[0]!))].slice(0, MOST_PAIRED)
  const leads = Array.from({ length: Math.min(parts.length, MOST_LEADS) + 1 }, (_, end) => beginning(end, 0))
  const singles = [...new Set(parts.flat())].flatMap((repeated) => leads.map((lead) => ({ lead, repeated })))
  const pairs = firsts.flatMap((one) => firsts.map((other) => ({ lead: '', repeated: one + other })))
  const beginnings = parts.slice(0, MOST_BEGINNINGS)
    .flatMap((_, end) => Array.from({ length: LETTERS_OF_CLASS }, (_unused, variant) =>
    ['', '-', ' ', '\n'].map((between) => ({ lead: '', repeated: between + beginning(end + 1, variant) })))).flat()
  const all = [...singles, ...pairs, ...beginnings].flatMap((one) => ENDINGS.map((ending) => ({ ...one, ending })))
  return [
    ...new Map(all.map((attack) => [`${attack.lead} then ${attack.repeated} then ${attack.ending}`, attack])).values(),
  ]
}

export const attackOfLength = ({ lead, repeated, ending }: Attack, length: number): string =>
  lead + repeated.repeat(Math.ceil(length / repeated.length)) + ending

const known = new Map<string, readonly string[]>()

/** Letters that a part of a pattern matches. */
function lettersOf(part: string, flags: string): readonly string[] {
  const key = `${part} ${flags}`
  const found = known.get(key) ?? search(part, flags)
  known.set(key, found)
  return found
}

function search(part: string, flags: string): readonly string[] {
  try {
    const alone = new RegExp(`^(?:${part})$`, flags.replaceAll(/[gy]/g, ''))
    const letters = ALPHABET.filter((letter) => alone.test(letter))
    // One letter per kind is enough for a wide class, because other parts distinguish kinds.
    const sorts = Map.groupBy(
      letters, (letter) => (/[a-z]/.test(letter) ? 'a' : /[A-Z]/.test(letter) ? 'A' : /\d/.test(letter) ? '0' : letter),
    )
    return [...sorts.values()].map((sort) => sort[0]!).slice(0, LETTERS_OF_CLASS)
  } catch {
    return []
  }
}

const PART = new RegExp([
  /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|k<[^>]*>|[^])/u, /\[(?:\\[^]|[^\]\\])*\]/u,
  /\(\?(?:[:=!]|<[=!]|<[^>]*>)|\{\d*,?\d*\}|[^]/u,
].map(({ source }) => source).join('|'), 'gu')

/** Letters, escapes and classes of a pattern, in order, without groups and quantifiers. */
function partsOf(pattern: string): readonly string[] {
  return [...pattern.matchAll(PART)]
    .map(([part]) => part)
    .filter((part) => !/^(?:[()|^$*+?]|\(\?.*|\{\d*,?\d*\}|\\[bB])$/s.test(part))
}
