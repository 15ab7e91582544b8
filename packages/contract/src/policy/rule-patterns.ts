import { globContains, globsOverlap, matchGlob, matchSegment, textContains, textsOverlap } from '@bulkhead/kit/glob'
import { hostCovers, hostsOverlap } from '@bulkhead/kit/hosts'
import type { RuleCapability } from '../model/names.ts'
import type { Rule } from '../validation/policy.ts'

/**
 * One thing that a call touches: a path, a host, a command or its approval key. Rules for tools and rules for
 * capabilities match the same list.
 */
export interface Touch {
  /** Absent for an approval key that the host does not read further. */
  readonly capability?: RuleCapability
  /** What is touched. For an unknown part, a pattern. */
  readonly subject: string
  /**
   * Other names of the same thing: rules that deny or ask match them, rules that allow do not. If present, the subject
   * is a text such as a command line, in which `/` is an ordinary character.
   */
  readonly names?: readonly string[]
  /** It is what the call is approved by: its key, a command of its line, or a file that its key is the folder of. */
  readonly isKey?: true
  /** Which part of the pattern is touched is known when it is touched. */
  readonly isUnknown?: true
  /** For an unknown part: patterns that it matches as well. */
  readonly within?: readonly string[]
}

/** A pattern of a rule, and the absolute paths that it stands for. */
export interface RulePattern extends Pick<Rule, 'pattern' | 'action'> {
  /** Absent: the pattern itself. */
  readonly paths?: readonly string[]
}

export const isEverything = (pattern: string): boolean => pattern === '*' || pattern === '**'

/** What a subject is, which decides how patterns are compared with it. */
export type SubjectKind = 'path' | 'host' | 'text' | 'key'
export const SUBJECT_KINDS: readonly SubjectKind[] = ['path', 'host', 'text', 'key']

export function kindOfTouch({ capability, names }: Touch): SubjectKind {
  if (capability === 'net.fetch') return 'host'
  if (names !== undefined || capability === 'shell.run') return 'text'
  return capability === undefined ? 'key' : 'path'
}

interface Comparison {
  matches(pattern: string, subject: string): boolean
  /** Both answers are right; undefined if there is none. */
  contains(outer: string, inner: string): boolean | undefined
  /** A wrong yes is possible, a wrong no is not. */
  overlaps(a: string, b: string): boolean
}

const TEXTS: Comparison = {
  matches: matchSegment,
  contains: textContains,
  // Further words are optional.
  overlaps: (a, b) => textsOverlap(a.replace(/ …$/, '*'), b.replace(/ …$/, '*')),
}
/** A key may be a folder. A pattern without `/` is compared as one name, which takes a sixth of the time. */
const KEYS: Comparison = {
  matches: (pattern, subject) =>
    pattern.includes('/') || subject.includes('/') ? matchGlob(pattern, subject) : matchSegment(pattern, subject),
  contains: globContains,
  overlaps: globsOverlap,
}
const COMPARISONS: Readonly<Record<SubjectKind, Comparison>> = {
  path: KEYS,
  key: KEYS,
  text: TEXTS,
  host: {
    matches: (pattern, host) => hostCovers(pattern, host) || matchSegment(pattern, host),
    contains: containsHosts,
    overlaps: (a, b) => hostsOverlap(a, b) || textsOverlap(a, b),
  },
}

/** Whether a rule with this pattern matches what is touched. `could`: whether it may match some of an unknown part. */
export function matchesTouch(rule: RulePattern, touch: Touch, could = false): boolean {
  if (isEverything(rule.pattern)) return true
  const kind = kindOfTouch(touch)
  const { matches, contains, overlaps } = COMPARISONS[kind]
  const patterns = patternsFor(rule, kind)
  const { subject, names = [], isUnknown, within = [] } = touch
  if (isUnknown) {
    const all = [subject, ...within]
    return could
      ? patterns.some((pattern) => all.every((one) => overlaps(one, pattern)))
      : patterns.some((pattern) =>
        all.some((one) => contains(pattern, one) === true || matchesCommands(kind, pattern, one)))
  }
  const compared = rule.action === 'allow' ? [subject] : [subject, ...names]
  return patterns.some((pattern) => compared.some((one) => matches(pattern, one)))
}

/** `git *` covers the commands that a tool declares as `git …`. */
const matchesCommands = (kind: SubjectKind, pattern: string, granted: string): boolean =>
  kind === 'text' && matchSegment(pattern, granted)

/** How the pattern of one rule relates to that of another: it matches less, the same, or something else. */
export function comparePatterns(rule: RulePattern, other: RulePattern, kind: SubjectKind): 'less' | 'same' | undefined {
  const [inside, around] = [containsAll(other, rule, kind), containsAll(rule, other, kind)]
  if (inside !== true || around === undefined) return undefined
  return around ? 'same' : 'less'
}

/** Whether some subject could match both patterns, and neither lies inside the other. A wrong yes is possible. */
export function patternsCross(rule: RulePattern, other: RulePattern, kind: SubjectKind): boolean {
  if (comparePatterns(rule, other, kind) !== undefined || comparePatterns(other, rule, kind) !== undefined) return false
  const { overlaps } = COMPARISONS[kind]
  return patternsFor(rule, kind).some((one) => patternsFor(other, kind).some((two) => overlaps(one, two)))
}

function containsAll(outer: RulePattern, inner: RulePattern, kind: SubjectKind): boolean | undefined {
  if (isEverything(outer.pattern)) return true
  if (isEverything(inner.pattern)) return false
  const { contains } = COMPARISONS[kind]
  const [wide, narrow] = [patternsFor(outer, kind), patternsFor(inner, kind)]
  const found = new Set(narrow.map((one) => {
    const answers = new Set(wide.map((pattern) => contains(pattern, one)))
    return answers.has(true) ? true : answers.has(undefined) ? undefined : false
  }))
  return found.has(undefined) ? undefined : !found.has(false)
}

const patternsFor = ({ pattern, paths = [pattern] }: RulePattern, kind: SubjectKind): readonly string[] =>
  kind === 'path' ? paths : [pattern]

/** A pattern such as `api.*` is no host pattern. It can be compared with itself only. */
function containsHosts(outer: string, inner: string): boolean | undefined {
  if (outer === inner) return true
  const isPlain = (pattern: string): boolean => !pattern.replace(/^\*(?=\.|$)/, '').includes('*')
  return isPlain(outer) && isPlain(inner) ? hostCovers(outer, inner) : undefined
}
