/**
 * Path patterns of requirements and rules. `*` stays inside one segment, `**` as a whole segment crosses any number of
 * them, everything else is literal. A pattern that names a folder covers the folder and all below it.
 * Linear in pattern × path: no regular expression is made from a stranger's text.
 */
export function matchGlob(pattern: string, path: string): boolean {
  return compileGlob(pattern)(pathSegments(path)).covers
}

/** What a pattern has to do with a path. */
export interface GlobMatch {
  readonly covers: boolean
  /** Whether it may cover something below the path. */
  readonly leads: boolean
}

export interface GlobOptions {
  /** Whether what lies below a match is covered with it. Default: it is. */
  readonly below?: boolean
}

const OUTSIDE: GlobMatch = Object.freeze({ covers: false, leads: false })
const ABOVE: GlobMatch = Object.freeze({ covers: false, leads: true })
const INSIDE: GlobMatch = Object.freeze({ covers: true, leads: true })
const LAST: GlobMatch = Object.freeze({ covers: true, leads: false })

/** A pattern made ready to be asked often. Paths are given by their segments, the first of an absolute path empty. */
export function compileGlob(pattern: string, { below = true }: GlobOptions = {}): (path: readonly string[]) => GlobMatch {
  const parts = pathSegments(pattern)
  const wild = parts.findIndex((part) => part.includes('*'))
  // Without a wildcard but for a `**` at the end, which most patterns are, segments are compared and nothing else.
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

/** The segments of a path or pattern, as they are compared: empty ones count in front only. */
export const pathSegments = (text: string): readonly string[] =>
  text.split('/').filter((part, index) => part !== '' || index === 0)

function matchSegments(pattern: readonly string[], path: readonly string[], below: boolean): GlobMatch {
  // reachable[i]: the first i pattern segments can match what was read of the path so far.
  let reachable = closure(pattern, [true, ...pattern.map(() => false)])
  for (const name of path) {
    const next = pattern.map(() => false).concat(false)
    reachable.forEach((on, index) => {
      if (!on) return
      const part = pattern[index]
      // Past its end: the pattern named a folder above.
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

/** `*` inside one text. */
export const matchSegment = (pattern: string, text: string): boolean =>
  pattern.includes('*') ? matchRow(pattern, text, '*', (part, char) => part === char) : pattern === text

/**
 * A row of parts against a row of items: `star` stands for any number of them, every other part for one. Greedy with one point
 * to go back to: linear for practical rows and never exponential.
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

/** Whether everything `narrow` matches is matched by `wide`. May say no too often, never yes wrongly. */
export function globCovers(wide: string, narrow: string): boolean {
  if (wide === narrow) return true
  const wideParts = pathSegments(wide)
  const narrowParts = pathSegments(narrow)
  const rest = wideParts.at(-1) === '**' ? wideParts.slice(0, -1) : wideParts
  if (rest.includes('**') || narrowParts.slice(0, rest.length).includes('**') || narrowParts.length < rest.length) return false
  return rest.every((part, index) => {
    const other = narrowParts[index]!
    return part === other || (!other.includes('*') && matchSegment(part, other)) || part === '*'
  })
}

/** Whether some path could match both patterns. May say yes too often, never no wrongly. */
export function globsOverlap(a: string, b: string): boolean {
  const [left, right] = [pathSegments(a), pathSegments(b)]
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    if (left[index] === '**' || right[index] === '**') return true
    if (!textsOverlap(left[index]!, right[index]!)) return false
  }
  // The shorter one names a folder above the other.
  return true
}

/** The same of texts in which `*` is the only wildcard. */
export function textsOverlap(a: string, b: string): boolean {
  if (matchSegment(a, b) || matchSegment(b, a)) return true
  if (!a.includes('*') || !b.includes('*')) return false
  const [left, right] = [a.slice(0, a.indexOf('*')), b.slice(0, b.indexOf('*'))]
  return left.startsWith(right) || right.startsWith(left)
}
