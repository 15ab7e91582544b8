import type { ProtectedPlaces, Protection } from '@bulkhead/contract'
import type { GlobMatch } from '@bulkhead/kit/glob'
import { mustBeNamed } from '@bulkhead/contract'
import { compileGlob, pathSegments } from '@bulkhead/kit/glob'
import type { NameFolding } from './name-folding.ts'
import { EXACT, foldNames } from './name-folding.ts'
import type { PathModel } from './paths.ts'
import { joinNames, liesIn } from './paths.ts'

/** A pattern of a grant, taken apart where the word of whoever runs the host ends and that of the manifest begins. */
export interface RootedPattern {
  readonly root: string
  /** Below the root, `/` between segments; empty for the root itself. */
  readonly rest: string
}

/**
 * The root of a pattern is the longest of `roots` it lies in; without one, all that comes before its first wildcard. A
 * root that cannot be named covers nothing.
 */
export function rootPatterns(patterns: readonly string[], roots: readonly string[], paths: PathModel): readonly RootedPattern[] {
  const longestFirst = roots.toSorted((one, other) => other.length - one.length)
  return patterns.flatMap((pattern) => {
    const known = longestFirst.find((root) => pattern === root || pattern.startsWith(root.endsWith('/') ? root : `${root}/`))
    const root = known ?? fixedPart(pattern)
    const read = paths.read(root, '/')
    return 'refused' in read ? [] : [{ root: read.path, rest: pattern.slice(root.length).replace(/^\/+/, '') }]
  })
}

function fixedPart(pattern: string): string {
  const segments = pattern.split('/')
  const wild = segments.findIndex((segment) => segment.includes('*'))
  return wild < 0 ? pattern : segments.slice(0, wild).join('/') || '/'
}

export interface PlacedPattern extends RootedPattern {
  readonly folding: NameFolding
}

/** Whether a place must be of the grant, or may also be a folder on the way to something of it. */
export type Reach = keyof GlobMatch

const NOWHERE: GlobMatch = { covers: false, leads: false }
const ON_THE_WAY: GlobMatch = { covers: false, leads: true }

export interface ScopeBounds {
  /** Folders that are nobody's, unless the root of a pattern lies in them. */
  readonly special: readonly string[]
  /** What is covered and not written all the same. Absent where nothing is written. */
  readonly protectedPlaces?: ProtectedPlaces | undefined
}

/** Patterns ready to be asked about paths, together: what any of them covers is covered. */
export class ScopePatterns {
  readonly #tests: readonly ((path: string, segments: readonly string[]) => GlobMatch)[]
  readonly #roots: readonly ((path: string) => boolean)[]
  readonly #special: readonly string[]
  /** Why a path is not written although a pattern covers it. */
  readonly #protections: readonly ((path: string, segments: readonly string[]) => Protection | undefined)[]

  constructor(patterns: readonly PlacedPattern[], { special, protectedPlaces }: ScopeBounds) {
    this.#special = special
    this.#roots = patterns.map(({ root, folding }) => {
      const folder = foldNames(root, folding)
      return (path) => liesIn(foldNames(path, folding), folder)
    })
    const covering = patterns.map((pattern) => covers(pattern, special))
    const protections = protectedPlaces === undefined ? [] : patterns.map((pattern) => protects(pattern, protectedPlaces))
    this.#tests = covering.map((test, index) => (path, segments) => {
      const match = test(path, segments)
      return match.covers && protections[index]?.(path) !== undefined ? NOWHERE : match
    })
    this.#protections = protections.map((protection, index) => (path, segments) =>
      covering[index]!(path, segments).covers ? protection(path) : undefined)
  }

  /** Why a path that a pattern covers is not written all the same; undefined where none does. */
  protection(path: string): Protection | undefined {
    const segments = pathSegments(path)
    for (const find of this.#protections) {
      const protection = find(path, segments)
      if (protection !== undefined) return protection
    }
    return undefined
  }

  /** Whether a path is of the patterns, or, for `leads`, a folder of one of their roots on the way to what is. */
  reaches(path: string, reach: Reach): boolean {
    return this.match(path)[reach] && (reach === 'covers' || this.#roots.some((isIn) => isIn(path)))
  }

  /** Whether a folder is of the patterns with everything that may lie in it. */
  coversAll(folder: string): boolean {
    return this.match(folder).covers && !this.#special.some((path) => liesIn(path, folder))
  }

  match(path: string): GlobMatch {
    const segments = pathSegments(path)
    let leads = false
    for (const test of this.#tests) {
      const match = test(path, segments)
      if (match.covers) return match
      leads ||= match.leads
    }
    return { covers: false, leads }
  }
}

function covers({ root, rest, folding }: PlacedPattern, special: readonly string[]): (path: string, segments: readonly string[]) => GlobMatch {
  const test = root.includes('*')
    ? belowLiteral(foldNames(root, folding), foldNames(rest, folding))
    : compileGlob(foldNames(rest === '' ? root : joinNames(root, rest), folding))
  const refused = special.map((folder) => foldNames(folder, folding)).filter((folder) => !liesIn(foldNames(root, folding), folder))
  return (path, segments) => {
    if (refused.length > 0 && isInOne(foldNames(path, folding), refused)) return NOWHERE
    return test(folding === EXACT ? segments : pathSegments(foldNames(path, folding)))
  }
}

/** A root is a path, also where a name in it has a star. */
function belowLiteral(root: string, rest: string): (segments: readonly string[]) => GlobMatch {
  const names = pathSegments(root)
  const test = compileGlob(rest === '' ? '**' : rest)
  return (segments) => {
    if (!names.every((name, index) => index >= segments.length || name === segments[index])) return NOWHERE
    return segments.length < names.length ? ON_THE_WAY : test(segments.slice(names.length))
  }
}

/** What keeps a pattern from writing a path that it covers. A name counts as named where a segment of the pattern is that name. */
function protects({ root, rest, folding }: PlacedPattern, places: ProtectedPlaces): (path: string) => Protection | undefined {
  const parts = namesOf(rest)
  const naming = parts.flatMap((part, index) =>
    part.includes('*') || !mustBeNamed(part) ? [] : [compileGlob(foldNames(parts.slice(0, index + 1).join('/'), folding), { below: false })])
  const from = namesOf(root).length
  return (path) => {
    const found = places.find(path, root)
    if (found?.strength !== 'named') return found
    const named = namesOf(foldNames(path, folding)).slice(from, found.at + 1)
    return naming.some((test) => test(named).covers) ? undefined : found
  }
}

const namesOf = (path: string): readonly string[] => path.split('/').filter((name) => name !== '')

const isInOne = (path: string, folders: readonly string[]): boolean => folders.some((folder) => liesIn(path, folder))
