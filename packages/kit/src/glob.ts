/**
 * Path patterns of requirements and rules. `*` stays inside one segment, `**` as a whole segment matches any number of
 * segments, everything else is literal. A pattern of a folder covers everything below it. Takes time linear in pattern
 * × path, because it builds no regular expression from untrusted text.
 */
export function matchGlob(pattern: string, path: string): boolean {
  return relationTo(pattern, path).covers
}

const compiled = new Map<string, (path: readonly string[]) => GlobMatch>()
/** Patterns of manifests and rules, which every call compares. */
const MOST_COMPILED = 1_000

export function relationTo(pattern: string, path: string): GlobMatch {
  if (compiled.size > MOST_COMPILED) compiled.clear()
  return compiled.getOrInsertComputed(pattern, () => compileGlob(pattern))(pathSegments(path))
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
  // Comparing is enough for the first segments, and for most patterns.
  const fixed = wild < 0 ? parts : parts.slice(0, wild)
  const rest = parts.slice(fixed.length)
  const isAll = below && (rest.length === 0 || (rest.length === 1 && rest[0] === '**'))
  return (path) => {
    const common = Math.min(fixed.length, path.length)
    for (let index = 0; index < common; index++) if (fixed[index] !== path[index]) return OUTSIDE
    if (path.length < fixed.length) return ABOVE
    return isAll ? INSIDE : matchSegments(rest, path.slice(fixed.length), below)
  }
}

/** The segments of a path or pattern. Empty ones count only at the start. */
export const pathSegments = (text: string): readonly string[] =>
  text.split('/').filter((part, index) => part !== '' || index === 0)

function matchSegments(pattern: readonly string[], path: readonly string[], below: boolean): GlobMatch {
  // reachable[i]: the first i pattern segments can match the path read so far.
  let reachable = closure(pattern, [true, ...pattern.map(() => false)])
  for (const name of path) {
    reachable = afterName(pattern, reachable, name, below)
    if (!reachable.includes(true)) return OUTSIDE
  }
  if (reachable[pattern.length] !== true) return ABOVE
  return below || reachable.indexOf(true) < pattern.length ? INSIDE : LAST
}

/** The parts of a pattern that can come next after one more name. */
function afterName(
  pattern: readonly string[], reachable: readonly boolean[], name: string, below = false,
): boolean[] {
  const next = pattern.map(() => false).concat(false)
  reachable.forEach((on, index) => {
    if (!on) return
    const part = pattern[index]
    // Past the end of the pattern: it names a folder above.
    if (part === undefined ? below : part === '**') next[index] = true
    else if (part !== undefined && matchSegment(part, name)) next[index + 1] = true
  })
  return closure(pattern, next)
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

/** How many steps a comparison of two patterns may take. */
const MOST_STEPS = 2_000

/**
 * Whether `outer` matches every path that `inner` matches. undefined if the comparison would take too long, so both
 * answers can be relied on.
 */
export function globContains(outer: string, inner: string): boolean | undefined {
  if (outer === inner) return true
  const [wide, narrow] = [wholeSegments(outer), wholeSegments(inner)]
  const seen = new Set<string>()
  // Each entry: how much of `narrow` is read, and which parts of `wide` can come next.
  const open: (readonly [at: number, reachable: boolean[]])[] = [[0, closure(wide, [true, ...wide.map(() => false)])]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [at, reachable] = next
    const state = `${at} ${reachable.map(Number).join('')}`
    if (seen.has(state)) continue
    if (seen.add(state).size > MOST_STEPS) return undefined
    const part = narrow[at]
    if (part === undefined ? reachable[wide.length] !== true : !reachable.includes(true)) return false
    if (part === undefined) continue
    // The wildcard stands for a name that no other text equals. Whatever matches it matches every name.
    if (part === '**') open.push([at + 1, reachable], [at, afterName(wide, reachable, '*')])
    else open.push([at + 1, afterName(wide, reachable, part)])
  }
  return true
}

/** A pattern of a folder covers everything below it. */
function wholeSegments(pattern: string): readonly string[] {
  const parts = pathSegments(pattern)
  return [...parts.slice(0, parts.findLastIndex((part) => part !== '**') + 1), '**']
}

/** The same for strings in which `*` is the only wildcard: that of `inner` is a character that no other equals. */
export const textContains = (outer: string, inner: string): boolean => matchSegment(outer, inner)

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
