/**
 * Path patterns of requirements and rules. `*` stays inside one segment, `**` as a whole segment matches any number of
 * segments, everything else is literal. A pattern of a folder covers everything below it. Takes time linear in pattern
 * × path, because it builds no regular expression from untrusted text.
 */
export function matchGlob(pattern: string, path: string): boolean {
  return compileGlob(pattern)(pathSegments(path)).covers
}

/** The relation of a pattern to a path. */
export interface GlobMatch {
  readonly covers: boolean
  /** Whether the pattern may cover something below the path. */
  readonly leads: boolean
}

export interface GlobOptions {
  /** Whether a match covers everything below it. Default: true. */
  readonly below?: boolean
}

const OUTSIDE: GlobMatch = Object.freeze({ covers: false, leads: false })
const ABOVE: GlobMatch = Object.freeze({ covers: false, leads: true })
const INSIDE: GlobMatch = Object.freeze({ covers: true, leads: true })
const LAST: GlobMatch = Object.freeze({ covers: true, leads: false })

/** Compiles a pattern for repeated use. A path is a list of segments; the first one of an absolute path is empty. */
export function compileGlob(
  pattern: string, { below = true }: GlobOptions = {},
): (path: readonly string[]) => GlobMatch {
  const parts = pathSegments(pattern)
  const wild = parts.findIndex((part) => part.includes('*'))
  // Most patterns have no wildcard except a final `**`. Then comparing segments is enough.
  if (below && (wild < 0 || (wild === parts.length - 1 && parts[wild] === '**'))) {
    const fixed = wild < 0 ? parts : parts.slice(0, wild)
    return (path) => {
      const common = Math.min(fixed.length, path.length)
      for (let index = 0; index < common; index++) if (fixed[index] !== path[index]) return OUTSIDE
      return path.length >= fixed.length ? INSIDE : ABOVE
    }
  }
  return (path) => matchSegments(parts, path, below)
}

/** The segments of a path or pattern. Empty ones count only at the start. */
export const pathSegments = (text: string): readonly string[] =>
  text.split('/').filter((part, index) => part !== '' || index === 0)

function matchSegments(pattern: readonly string[], path: readonly string[], below: boolean): GlobMatch {
  // reachable[i]: the first i pattern segments can match the path read so far.
  let reachable = closure(pattern, [true, ...pattern.map(() => false)])
  for (const name of path) {
    const next = pattern.map(() => false).concat(false)
    reachable.forEach((on, index) => {
      if (!on) return
      const part = pattern[index]
      // Past the end of the pattern: it names a folder above.
      if (part === undefined ? below : part === '**') next[index] = true
      else if (part !== undefined && matchSegment(part, name)) next[index + 1] = true
    })
    reachable = closure(pattern, next)
    if (!reachable.includes(true)) return OUTSIDE
  }
  if (reachable[pattern.length] !== true) return ABOVE
  return below || reachable.indexOf(true) < pattern.length ? INSIDE : LAST
}

function closure(pattern: readonly string[], reachable: boolean[]): boolean[] {
  pattern.forEach((part, index) => {
    if (part === '**' && reachable[index]) reachable[index + 1] = true
  })
  return reachable
}

/** `*` inside one string. */
export const matchSegment = (pattern: string, text: string): boolean =>
  pattern.includes('*') ? matchRow(pattern, text, '*', (part, char) => part === char) : pattern === text

/**
 * Matches a list of parts with a list of items: `star` matches any number of items, every other part one. Greedy with
 * one backtracking point: linear in practice and never exponential.
 */
export function matchRow<Part, Item>(
  parts: ArrayLike<Part>, items: ArrayLike<Item>, star: Part, fits: (part: Part, item: Item) => boolean,
): boolean {
  let [at, from, lastStar, retry] = [0, 0, -1, 0]
  while (from < items.length) {
    if (at < parts.length && parts[at] === star) {
      lastStar = at++
      retry = from
    } else if (at < parts.length && fits(parts[at]!, items[from]!)) {
      at++
      from++
    } else if (lastStar >= 0) {
      at = lastStar + 1
      from = ++retry
    } else {
      return false
    }
  }
  while (at < parts.length && parts[at] === star) at++
  return at === parts.length
}

/** Whether `wide` matches everything that `narrow` matches. Conservative: false may be wrong, true never is. */
export function globCovers(wide: string, narrow: string): boolean {
  if (wide === narrow) return true
  const wideParts = pathSegments(wide)
  const narrowParts = pathSegments(narrow)
  const rest = wideParts.at(-1) === '**' ? wideParts.slice(0, -1) : wideParts
  if (narrowParts.length < rest.length) return false
  if (rest.includes('**') || narrowParts.slice(0, rest.length).includes('**')) return false
  return rest.every((part, index) => {
    const other = narrowParts[index]!
    return part === other || (!other.includes('*') && matchSegment(part, other)) || part === '*'
  })
}

/** Whether some path could match both patterns. Conservative: true may be wrong, false never is. */
export function globsOverlap(a: string, b: string): boolean {
  const [left, right] = [pathSegments(a), pathSegments(b)]
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    if (left[index] === '**' || right[index] === '**') return true
    if (!textsOverlap(left[index]!, right[index]!)) return false
  }
  // The shorter one names a folder above the other.
  return true
}

/** The same for strings in which `*` is the only wildcard. */
export function textsOverlap(a: string, b: string): boolean {
  if (matchSegment(a, b) || matchSegment(b, a)) return true
  if (!a.includes('*') || !b.includes('*')) return false
  const [left, right] = [a.slice(0, a.indexOf('*')), b.slice(0, b.indexOf('*'))]
  return left.startsWith(right) || right.startsWith(left)
}
