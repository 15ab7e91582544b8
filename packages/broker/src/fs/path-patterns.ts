import { SENSITIVE, type NamedPlaces, type Protection } from '@bulkhead/contract'
import { compileGlob, pathSegments, type GlobMatch } from '@bulkhead/kit/glob'
import { EXACT, foldNames, type NameFolding } from './disk.ts'
import { joinNames, liesIn, type PathModel } from './paths.ts'

/** A pattern, split into the folder that the operator chose and the rest from the manifest. */
export interface RootedPattern {
  readonly root: string
  /** Below the root, `/` between segments; empty for the root itself. */
  readonly rest: string
}

/**
 * The root of a pattern is the longest of `roots` that contains it; otherwise everything before its first wildcard. An
 * invalid root covers nothing.
 */
export function rootPatterns(
  patterns: readonly string[], roots: readonly string[], paths: PathModel,
): readonly RootedPattern[] {
  const longestFirst = roots.toSorted((one, other) => other.length - one.length)
  return patterns.flatMap((pattern) => {
    const known = longestFirst.find((root) =>
      pattern === root || pattern.startsWith(root.endsWith('/') ? root : `${root}/`))
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

/** `covers`: the grant covers the path. `leads`: it is a folder above something the grant covers. */
export type Reach = keyof GlobMatch

const OUTSIDE: GlobMatch = { covers: false, leads: false }
const ABOVE: GlobMatch = { covers: false, leads: true }

export interface PatternBounds {
  /** Folders that a pattern covers only if its root is inside them. */
  readonly special: readonly string[]
  /** Paths that are left out although a pattern covers them, unless it names them. */
  readonly protectedPlaces?: NamedPlaces | undefined
}

/** A union of patterns. */
export class PathPatterns {
  readonly #tests: readonly ((path: string, segments: readonly string[]) => GlobMatch)[]
  readonly #roots: readonly ((path: string) => boolean)[]
  readonly #special: readonly string[]
  /** Per pattern: why a path is left out although the pattern covers it. */
  readonly #protections: readonly ((path: string, segments: readonly string[]) => Protection | undefined)[]

  constructor(patterns: readonly PlacedPattern[], { special, protectedPlaces }: PatternBounds) {
    this.#special = special
    this.#roots = patterns.map(({ root, folding }) => {
      const folder = foldNames(root, folding)
      return (path) => liesIn(foldNames(path, folding), folder)
    })
    const covering = patterns.map((pattern) => coverageOf(pattern, special))
    const protections = protectedPlaces === undefined ? []
      : patterns.map((pattern) => protects(pattern, protectedPlaces))
    this.#tests = covering.map((test, index) => (path, segments) => {
      const match = test(path, segments)
      return match.covers && protections[index]?.(path) !== undefined ? OUTSIDE : match
    })
    this.#protections = protections.map((protection, index) => (path, segments) =>
      covering[index]!(path, segments).covers ? protection(path) : undefined)
  }

  /** Why a path is left out although a pattern covers it. */
  protection(path: string): Protection | undefined {
    const segments = pathSegments(path)
    for (const find of this.#protections) {
      const protection = find(path, segments)
      if (protection !== undefined) return protection
    }
    return undefined
  }

  /** For `leads`, the path must also be inside a root. */
  reaches(path: string, reach: Reach): boolean {
    return this.match(path)[reach] && (reach === 'covers' || this.#roots.some((isIn) => isIn(path)))
  }

  /** Whether the patterns cover a folder with everything below it. */
  coversAll(folder: string): boolean {
    return this.match(folder).covers && !this.#special.some((path) => liesIn(path, folder))
      && SENSITIVE.examples.every((names) => this.match(joinNames(folder, ANY_NAME, ...names)).covers)
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

function coverageOf(
  { root, rest, folding }: PlacedPattern, special: readonly string[],
): (path: string, segments: readonly string[]) => GlobMatch {
  const test = root.includes('*')
    ? belowLiteral(foldNames(root, folding), foldNames(rest, folding))
    : compileGlob(foldNames(rest === '' ? root : joinNames(root, rest), folding))
  const refused = special.map((folder) => foldNames(folder, folding))
    .filter((folder) => !liesIn(foldNames(root, folding), folder))
  return (path, segments) => {
    if (refused.length > 0 && isInOne(foldNames(path, folding), refused)) return OUTSIDE
    return test(folding === EXACT ? segments : pathSegments(foldNames(path, folding)))
  }
}

/** `*` in a root is a literal character. */
function belowLiteral(root: string, rest: string): (segments: readonly string[]) => GlobMatch {
  const names = pathSegments(root)
  const test = compileGlob(rest === '' ? '**' : rest)
  return (segments) => {
    if (!names.every((name, index) => index >= segments.length || name === segments[index])) return OUTSIDE
    return segments.length < names.length ? ABOVE : test(segments.slice(names.length))
  }
}

/** Stands for every folder below another. */
const ANY_NAME = 'x'

/**
 * Why a pattern leaves out a path that it covers. A segment of the pattern that names the protected place lifts it.
 */
function protects(
  { root, rest, folding }: PlacedPattern, places: NamedPlaces,
): (path: string) => Protection | undefined {
  const parts = namesOf(rest)
  const naming = parts.flatMap((part, index) =>
    !places.names(part) ? []
      : [compileGlob(foldNames(parts.slice(0, index + 1).join('/'), folding), { below: false })])
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

/** The patterns of a grant, alone or intersected with its ceilings. */
export type Patterns = Pick<PathPatterns, 'match' | 'reaches' | 'coversAll' | 'protection'>

/** Covers what every layer covers. */
export function intersection(layers: readonly Patterns[]): Patterns {
  const [only] = layers
  if (only !== undefined && layers.length === 1) return only
  return {
    match(path): GlobMatch {
      let [covers, leads] = [true, true]
      for (const layer of layers) {
        const match = layer.match(path)
        covers &&= match.covers
        leads &&= match.leads
      }
      return { covers, leads }
    },
    reaches: (path: string, reach: Reach) => layers.every((layer) => layer.reaches(path, reach)),
    protection: (path) => layers.values().map((layer) => layer.protection(path)).find((found) => found !== undefined),
    coversAll: (folder) => layers.every((layer) => layer.coversAll(folder)),
  }
}
