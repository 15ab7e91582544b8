import type { GlobMatch } from '@bulkhead/kit/glob'
import { BulkheadError, ProtectedPlaces, protectionReason } from '@bulkhead/contract'
import { Denial, type Cures } from '../model/denial.ts'
import type { Disk } from './disk.ts'
import { fileFault } from './file-errors.ts'
import type { NameFolding } from './name-folding.ts'
import { EXACT, foldNames } from './name-folding.ts'
import type { PresumedFile } from './sync-read.ts'
import type { PathModel } from './paths.ts'
import { joinNames, liesIn } from './paths.ts'
import type { RealRoot } from './real-roots.ts'
import { RealRoots } from './real-roots.ts'
import type { Station } from './resolve-path.ts'
import { resolvePath } from './resolve-path.ts'
import { inEvery, type Patterns } from './every-scope.ts'
import type { Reach, RootedPattern } from './path-patterns.ts'
import { rootPatterns, ScopePatterns } from './path-patterns.ts'

const PATH_CHARS = 4_096
const OUTSIDE: Cures = {
  author: 'Declare it in `requires.fs`, or name a path inside.',
  caller: 'Name a path inside the workspace that is not in a folder of the host.',
}

/** One file or folder a tool named: where it really lies, or would. */
export interface Place {
  /** As the tool wrote it, for messages. */
  readonly given: string
  readonly real: string
  /** Whether the last name of what was given is a link. */
  readonly linked: boolean
}

export interface JudgeParts {
  readonly power: 'fs.read' | 'fs.write'
  readonly patterns: readonly string[]
  /** Patterns of ceilings: a path must match one of each list as well. */
  readonly ceilings?: readonly (readonly string[])[]
  /** Folders whose links are followed because whoever runs the host chose them. */
  readonly roots: readonly string[]
  /** What relative paths start from. */
  readonly workspace: string
  /** Folders of the host's own, which no pattern covers unless it begins in them. */
  readonly kept: readonly string[]
  /** Folders that are never written, whatever pattern covers them. */
  readonly neverWritten: readonly string[]
  readonly platform: NodeJS.Platform
  readonly paths: PathModel
  readonly disk: Disk
}

/** The patterns of a grant as they are written, and as they are with the links in their roots followed. */
interface Compiled {
  readonly roots: readonly RealRoot[]
  readonly written: Patterns
  readonly real: Patterns
  /** Whether every root is there where it is written to be, and names in it are what they say. */
  readonly plain: boolean
}

/** Where paths lead, and whether a grant covers it. Compiled once; only the roots are asked for again. */
export class PathJudge {
  readonly #parts: JudgeParts
  readonly #workspace: string
  /** Those of the grant, and of each of its ceilings. */
  readonly #layers: readonly (readonly RootedPattern[])[]
  readonly #rootPaths: readonly string[]
  readonly #realRoots: RealRoots
  readonly #protectedPlaces: ProtectedPlaces | undefined
  #compiled: Compiled | undefined

  constructor(parts: JudgeParts) {
    const { paths, patterns, ceilings = [], roots, workspace } = parts
    this.#parts = parts
    const base = paths.read(workspace, '/')
    this.#workspace = 'path' in base ? base.path : '/'
    this.#layers = [patterns, ...ceilings].map((layer) => rootPatterns(layer, roots, paths))
    this.#rootPaths = [...new Set(this.#layers.flat().map(({ root }) => root))]
    this.#realRoots = new RealRoots(parts)
    const never = parts.neverWritten.map((folder) => paths.read(folder, '/')).flatMap((read) => 'path' in read ? [read.path] : [])
    this.#protectedPlaces = parts.power === 'fs.write' ? new ProtectedPlaces(never) : undefined
  }

  /** Contract: rejects with CapabilityDenied for everything outside, whether it exists or not. */
  async locate(given: string, reach: Reach): Promise<Place> {
    if (!isPath(given)) {
      throw new BulkheadError('InputInvalid', 'The path is empty, too long, or has a NUL or half a character in it.')
    }
    const read = this.#parts.paths.read(given, this.#workspace)
    if ('refused' in read) throw this.denied(given, `is not taken for a path: ${read.refused}. Write it in another way`)
    return fileFault(given, async () => {
      const compiled = await this.#current()
      if (!compiled.written.reaches(read.path, reach)) throw this.#refused(given, read.path, compiled.written)
      return await this.#directly(given, read.path, reach, compiled) ?? await this.#nameByName(given, read.path, reach)
    })
  }

  /** A file of the grant, judged by its path alone; undefined when that does not do. */
  presume(given: string): PresumedFile | undefined {
    if (this.#compiled?.plain !== true || !isPath(given)) return undefined
    const { written, roots } = this.#compiled
    const read = this.#parts.paths.read(given, this.#workspace)
    if ('refused' in read || !written.reaches(read.path, 'covers')) return undefined
    const root = roots.find(({ real }) => read.path.startsWith(joinNames(real, '')))
    return root && { path: read.path, root: root.real }
  }

  /** What the grant has to do with paths that are real already. */
  async matcher(): Promise<(real: string) => GlobMatch> {
    const { real } = await this.#current()
    return (path) => real.match(path)
  }

  /** Whether a folder is of the grant with everything that may lie in it. */
  async coversAll({ real }: Place): Promise<boolean> {
    return (await this.#current()).real.coversAll(real)
  }

  /** Whether the system means a path by what it says. */
  isAt(where: string, real: string): boolean {
    const said = this.#parts.paths.read(where, '/')
    if ('refused' in said) return false
    const folding = foldingAt(this.#compiled?.roots ?? [], real)
    return said.path === real || (folding !== EXACT && foldNames(said.path, folding) === foldNames(real, folding))
  }

  /** Whether a place is a root of the grant, so that its name lies in a folder that is not of the grant. */
  async isRoot({ real }: Place): Promise<boolean> {
    return (await this.#current()).roots.some((root) => foldNames(root.real, root.folding) === foldNames(real, root.folding))
  }

  denied(given: string, why?: string): BulkheadError {
    const { power } = this.#parts
    const data = { power, path: given }
    if (why !== undefined) return new BulkheadError('CapabilityDenied', `"${given}" ${why}.`, { data })
    return new Denial(`"${given}" lies outside what the tool may ${power === 'fs.read' ? 'read' : 'write'}.`, OUTSIDE, data)
  }

  /** As `denied`, with the reason where a pattern covers the place and it is protected all the same. */
  #refused(given: string, at: string, patterns: Patterns): BulkheadError {
    const protection = patterns.protection(at)
    if (protection === undefined) return this.denied(given)
    const data = { power: this.#parts.power, path: given }
    const reason = `"${given}" ${protectionReason(protection)}.`
    if (protection.strength === 'never') return new BulkheadError('CapabilityDenied', reason, { data })
    const author = `Declare a pattern in \`requires.fs.write\` that names it, such as {workspace}/${protection.name}.`
    return new Denial(reason, { author, caller: '' }, data)
  }

  /** Most paths have no link below their root, which one question to the system tells. */
  async #directly(given: string, path: string, reach: Reach, { roots, real: patterns }: Compiled): Promise<Place | undefined> {
    const { root, names } = this.#parts.paths.split(path)
    const { at, ahead } = this.#enter(roots, root, names)
    const expected = joinNames(at, ...ahead)
    if (foldingAt(roots, expected) !== EXACT || !patterns.reaches(expected, reach)) return undefined
    const real = await this.#parts.disk.real(expected).catch(() => undefined)
    return real === expected ? { given, real, linked: false } : undefined
  }

  async #nameByName(given: string, path: string, reach: Reach): Promise<Place> {
    const { disk, paths } = this.#parts
    // Something is not where it would be without links: a root may have moved.
    const { roots, real: patterns } = await this.#compile((root) => this.#realRoots.refresh(root))
    const { real, linked } = await resolvePath(path, {
      disk,
      paths,
      foldingIn: (folder) => foldingAt(roots, folder),
      match: (at) => patterns.match(at),
      enter: (root, names) => this.#enter(roots, root, names),
      denied: (at) => at === undefined ? this.denied(given) : this.#refused(given, at, patterns),
    })
    if (!patterns.reaches(real, reach)) throw this.#refused(given, real, patterns)
    return { given, real, linked }
  }

  #enter(roots: readonly RealRoot[], top: string, names: readonly string[]): Station {
    let station: Station = { at: top, ahead: names }
    for (const { written, real, folding } of roots) {
      for (const path of [written, real]) {
        const root = this.#parts.paths.split(path)
        const isBelow = root.root === top && root.names.length <= names.length
          && root.names.every((name, index) => foldNames(name, folding) === foldNames(names[index]!, folding))
        const ahead = names.slice(root.names.length)
        if (isBelow && ahead.length <= station.ahead.length) station = { at: real, ahead }
      }
    }
    return station
  }

  #current(): Promise<Compiled> {
    return this.#compile((root) => this.#realRoots.find(root))
  }

  async #compile(find: (root: string) => Promise<RealRoot>): Promise<Compiled> {
    const roots = await Promise.all(this.#rootPaths.map(find))
    if (this.#compiled !== undefined && roots.every((root, index) => root === this.#compiled?.roots[index])) return this.#compiled
    const { paths, kept } = this.#parts
    const bounds = { special: [...paths.special, ...kept], protectedPlaces: this.#protectedPlaces }
    const placed = this.#layers.map((layer) => layer.map(({ root, rest }) => ({ rest, ...roots[this.#rootPaths.indexOf(root)]! })))
    const compile = (rootOf: (root: RealRoot) => string): Patterns => inEvery(placed.map((layer) =>
      new ScopePatterns(layer.map((pattern) => ({ root: rootOf(pattern), rest: pattern.rest, folding: pattern.folding })), bounds)))
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

/** How names fold at a path: as in the root it lies in. */
function foldingAt(roots: readonly RealRoot[], path: string): NameFolding {
  return roots.find(({ real, folding }) => liesIn(foldNames(path, folding), foldNames(real, folding)))?.folding ?? EXACT
}
