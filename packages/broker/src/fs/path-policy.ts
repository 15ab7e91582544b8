import type { GlobMatch } from '@bulkhead/kit/glob'
import { BulkheadError, ProtectedPlaces, protectionReason, SENSITIVE, type NamedPlaces } from '@bulkhead/contract'
import { Denial, type Remedies } from '../model/capability.ts'
import { EXACT, foldNames, type Disk, type NameFolding } from './disk.ts'
import { withFileErrors } from './file-errors.ts'
import type { UnverifiedFile } from './sync-read.ts'
import { joinNames, liesIn, type PathModel } from './paths.ts'
import { RealRoots, resolvePath, type RealRoot, type Position } from './resolve-path.ts'
import {
  intersection, rootPatterns, PathPatterns, type Patterns, type Reach, type RootedPattern,
} from './path-patterns.ts'

const PATH_CHARS = 4_096
const OUTSIDE: Remedies = {
  author: 'Declare it in `requires.fs`, or use a path inside.',
  caller: 'Use a path inside the workspace that is not in a folder of the host.',
}

/** The path of a tool, resolved and covered by the grant. It need not exist. */
export interface ResolvedPath {
  /** As the tool wrote it, for messages. */
  readonly given: string
  /** Absolute, before links are followed. Absent if it has none. */
  readonly written?: string
  readonly real: string
  /** Whether the last component of `given` is a link. */
  readonly linked: boolean
}

export interface PathPolicyOptions {
  readonly power: 'fs.read' | 'fs.write'
  readonly patterns: readonly string[]
  /** Patterns of ceilings. A path must also match one of each list. */
  readonly ceilings?: readonly (readonly string[])[]
  /** Folders that the operator chose. Their links are followed. */
  readonly roots: readonly string[]
  /** The base of relative paths. */
  readonly workspace: string
  /** Folders of the host, which no pattern covers unless it begins there. */
  readonly reserved: readonly string[]
  /** Folders that are never written, whatever pattern covers them. */
  readonly readOnly: readonly string[]
  readonly platform: NodeJS.Platform
  readonly paths: PathModel
  readonly disk: Disk
}

/** The patterns of a grant, with their roots as written and as resolved. */
interface Compiled {
  readonly roots: readonly RealRoot[]
  readonly written: Patterns
  readonly real: Patterns
  /** Whether every root exists, has no links, and folds no names. */
  readonly plain: boolean
}

/** Resolves paths and checks them against a grant. Compiled once; only the roots are looked up again. */
export class PathPolicy {
  readonly #parts: PathPolicyOptions
  readonly #workspace: string
  /** Patterns of the grant, and of each ceiling. */
  readonly #layers: readonly (readonly RootedPattern[])[]
  readonly #rootPaths: readonly string[]
  readonly #realRoots: RealRoots
  readonly #protectedPlaces: NamedPlaces
  #compiled: Compiled | undefined

  constructor(parts: PathPolicyOptions) {
    const { paths, patterns, ceilings = [], roots, workspace } = parts
    this.#parts = parts
    const base = paths.read(workspace, '/')
    this.#workspace = 'path' in base ? base.path : '/'
    this.#layers = [patterns, ...ceilings].map((layer) => rootPatterns(layer, roots, paths))
    this.#rootPaths = [...new Set(this.#layers.flat().map(({ root }) => root))]
    this.#realRoots = new RealRoots(parts)
    const never = parts.readOnly.map((folder) =>
      paths.read(folder, '/')).flatMap((read) => 'path' in read ? [read.path] : [])
    this.#protectedPlaces = parts.power === 'fs.write' ? new ProtectedPlaces(never) : SENSITIVE
  }

  /**
   * `keepsLink`: a link in the last component is not followed.
   * Contract: rejects with CapabilityDenied for everything outside, whether it exists or not.
   */
  async locate(given: string, reach: Reach, keepsLink = false): Promise<ResolvedPath> {
    if (!isPath(given)) {
      throw new BulkheadError(
        'InputInvalid',
        'The path is empty, too long, or contains a NUL or an unpaired surrogate.',
      )
    }
    const read = this.#parts.paths.read(given, this.#workspace)
    if ('refused' in read) throw this.denied(given, `is not accepted as a path: ${read.refused}. Write it differently`)
    return withFileErrors(given, async () => {
      const compiled = await this.#current()
      if (!compiled.written.reaches(read.path, reach)) throw this.#refused(given, read.path, compiled.written)
      return await this.#directly(given, read.path, reach, compiled)
        ?? await this.#nameByName(given, read.path, reach, keepsLink)
    })
  }

  /** A file that the grant covers by its written path; undefined if links must be resolved first. */
  unverified(given: string): UnverifiedFile | undefined {
    if (this.#compiled?.plain !== true || !isPath(given)) return undefined
    const { written, roots } = this.#compiled
    const read = this.#parts.paths.read(given, this.#workspace)
    if ('refused' in read || !written.reaches(read.path, 'covers')) return undefined
    const root = roots.find(({ real }) => read.path !== real && liesIn(read.path, real))
    return root && { path: read.path, root: root.real }
  }

  /** Matches paths that are already resolved. */
  async matcher(): Promise<(real: string) => GlobMatch> {
    const { real } = await this.#current()
    return (path) => real.match(path)
  }

  /** Whether the grant covers a folder with everything below it. */
  async coversAll({ real }: ResolvedPath): Promise<boolean> {
    return (await this.#current()).real.coversAll(real)
  }

  /** Whether a path reported by the system is this resolved path. */
  isAt(where: string, real: string): boolean {
    const reported = this.#parts.paths.read(where, '/')
    if ('refused' in reported) return false
    const folding = foldingAt(this.#compiled?.roots ?? [], real)
    return reported.path === real
      || (folding !== EXACT && foldNames(reported.path, folding) === foldNames(real, folding))
  }

  /** Whether a path is a root of the grant. Its parent is then outside the grant. */
  async isRoot({ real }: ResolvedPath): Promise<boolean> {
    const { roots } = await this.#current()
    return roots.some((root) => foldNames(root.real, root.folding) === foldNames(real, root.folding))
  }

  denied(given: string, why?: string): BulkheadError {
    const { power } = this.#parts
    const data = { power, path: given }
    if (why !== undefined) return new BulkheadError('CapabilityDenied', `"${given}" ${why}.`, { data })
    return new Denial(
      `"${given}" is outside what the tool may ${power === 'fs.read' ? 'read' : 'write'}.`,
      OUTSIDE,
      data,
    )
  }

  /** Like `denied`, but explains it if a pattern covers the path and the path is protected. */
  #refused(given: string, at: string, patterns: Patterns): BulkheadError {
    const protection = patterns.protection(at)
    if (protection === undefined) return this.denied(given)
    const data = { power: this.#parts.power, path: given }
    const reason = `"${given}" ${protectionReason(protection)}.`
    if (protection.strength === 'never') return new BulkheadError('CapabilityDenied', reason, { data })
    const example = `{workspace}/${protection.name}`
    const author = `Declare a pattern in \`requires.${this.#parts.power}\` that names it, for example ${example}.`
    return new Denial(reason, { author, caller: '' }, data)
  }

  /** Most paths have no link below their root. One realpath() proves that. */
  async #directly(
    given: string, path: string, reach: Reach, { roots, real: patterns }: Compiled,
  ): Promise<ResolvedPath | undefined> {
    const { root, names } = this.#parts.paths.split(path)
    const { at, ahead } = this.#enter(roots, root, names)
    const expected = joinNames(at, ...ahead)
    if (foldingAt(roots, expected) !== EXACT || !patterns.reaches(expected, reach)) return undefined
    const real = await this.#parts.disk.realpath(expected).catch(() => undefined)
    return real === expected ? { given, written: path, real, linked: false } : undefined
  }

  async #nameByName(given: string, path: string, reach: Reach, keepsLink: boolean): Promise<ResolvedPath> {
    const { disk, paths } = this.#parts
    // The path has a link or is missing, or a root has moved.
    const { roots, real: patterns } = await this.#compile((root) => this.#realRoots.refresh(root))
    const { real, linked } = await resolvePath(path, {
      disk,
      paths,
      keepsLink,
      foldingIn: (folder) => foldingAt(roots, folder),
      match: (at) => patterns.match(at),
      enter: (root, names) => this.#enter(roots, root, names),
      denied: (at) => at === undefined ? this.denied(given) : this.#refused(given, at, patterns),
    })
    if (!patterns.reaches(real, reach)) throw this.#refused(given, real, patterns)
    return { given, written: path, real, linked }
  }

  #enter(roots: readonly RealRoot[], top: string, names: readonly string[]): Position {
    let position: Position = { at: top, ahead: names }
    for (const { written, real, folding } of roots) {
      for (const path of [written, real]) {
        const root = this.#parts.paths.split(path)
        const isBelow = root.root === top && root.names.length <= names.length
          && root.names.every((name, index) => foldNames(name, folding) === foldNames(names[index]!, folding))
        const ahead = names.slice(root.names.length)
        if (isBelow && ahead.length <= position.ahead.length) position = { at: real, ahead }
      }
    }
    return position
  }

  #current(): Promise<Compiled> {
    return this.#compile((root) => this.#realRoots.find(root))
  }

  async #compile(find: (root: string) => Promise<RealRoot>): Promise<Compiled> {
    const roots = await Promise.all(this.#rootPaths.map(find))
    if (this.#compiled !== undefined && roots.every((root, index) => root === this.#compiled?.roots[index])) {
      return this.#compiled
    }
    const { paths, reserved } = this.#parts
    const special = [...paths.special, ...reserved]
    const placed = this.#layers.map((layer) =>
      layer.map(({ root, rest }) => ({ rest, ...roots[this.#rootPaths.indexOf(root)]! })))
    // A ceiling takes nothing away from what the grant names for reading.
    const protectedIn = (index: number): NamedPlaces | undefined =>
      index === 0 || this.#parts.power === 'fs.write' ? this.#protectedPlaces : undefined
    const compile = (rootOf: (root: RealRoot) => string): Patterns => intersection(placed.map((layer, index) =>
      new PathPatterns(
        layer.map((root) => ({ root: rootOf(root), rest: root.rest, folding: root.folding })),
        { special, protectedPlaces: protectedIn(index) },
      )))
    this.#compiled = {
      roots,
      plain: roots.every(({ written, real, folding, exists }) => exists && written === real && folding === EXACT),
      written: compile(({ written }) => written),
      real: compile(({ real }) => real),
    }
    return this.#compiled
  }
}

const isPath = (given: string): boolean =>
  given !== '' && given.length <= PATH_CHARS && !given.includes('\0') && given.isWellFormed()

/** Names fold as in the root that contains the path. */
function foldingAt(roots: readonly RealRoot[], path: string): NameFolding {
  return roots.find(({ real, folding }) => liesIn(foldNames(path, folding), foldNames(real, folding)))?.folding ?? EXACT
}
