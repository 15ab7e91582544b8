import type { BulkheadError } from '@bulkhead/contract'
import type { GlobMatch } from '@bulkhead/kit/glob'
import { EXACT, foldNames, probeFolding, type Disk, type FileInfo, type NameFolding } from './disk.ts'
import { isMissing } from './file-errors.ts'
import { joinNames, parentOf, type PathModel } from './paths.ts'

/** The limit of Linux. */
const LINKS = 40

export interface ResolveContext {
  readonly disk: Disk
  readonly paths: PathModel
  /** How names fold in a folder. */
  foldingIn(folder: string): NameFolding
  /** Which paths may be inspected: those the grant covers, and the folders above them. */
  match(path: string): GlobMatch
  /** Where to start an absolute path: at the resolved root of the grant that contains it, or at the top. */
  enter(root: string, names: readonly string[]): Position
  /** Whether a link in the last component is not followed. */
  readonly keepsLink?: boolean
  /** `at`: a path that the grant does not cover. */
  denied(at?: string): BulkheadError
}

/** A folder on the way, and the names that remain. */
export interface Position {
  readonly at: string
  readonly ahead: readonly string[]
}

export interface Resolution {
  readonly real: string
  /** Whether the last component was a link. */
  readonly linked: boolean
}

/**
 * Resolves a path component by component. Only paths that the grant covers, and folders above them, are inspected: a
 * link that leads elsewhere ends the search, so that a tool learns nothing about the target. A path that does not exist
 * yet resolves to where it would be. Contract: rejects with `denied()`, or with an error of the disk.
 */
export async function resolvePath(path: string, context: ResolveContext): Promise<Resolution> {
  const { disk, paths } = context
  const { root, names } = paths.split(path)
  let { at, ahead } = context.enter(root, names)
  let links = 0
  let linked = false
  for (;;) {
    const [name, ...rest] = ahead
    if (name === undefined) return { real: at, linked }
    ahead = rest
    if (name === '..') {
      at = parentOf(at, paths).folder
      continue
    }
    const here = joinNames(at, name)
    const { covers, leads } = context.match(here)
    if (!covers && !leads) throw context.denied(here)
    const found = await disk.lstat(here)
    if (found === undefined) {
      // `..` after a missing component.
      if (ahead.includes('..')) throw context.denied()
      return { real: joinNames(here, ...ahead), linked }
    }
    // Names of a followed link come before those ahead, so this is the last component of the path.
    if (found.kind === 'link' && ahead.length === 0 && context.keepsLink) {
      return { real: joinNames(at, await trueName(at, name, found, context)), linked: true }
    }
    if (found.kind !== 'link') {
      at = joinNames(at, await trueName(at, name, found, context))
      if (ahead.length === 0) return { real: at, linked }
      // `..` after a file.
      if (found.kind !== 'folder' && ahead.includes('..')) throw context.denied()
      continue
    }
    if (++links > LINKS) throw context.denied()
    linked ||= ahead.length === 0
    const written = await disk.readlink(here)
    const target = written === undefined ? undefined : paths.splitTarget(written)
    if (target === undefined) throw context.denied()
    const next = target.root === undefined ? { at, ahead: target.names } : context.enter(target.root, target.names)
    at = next.at
    ahead = [...next.ahead, ...ahead]
  }
}

/**
 * The name as stored on disk. Where names fold, the folder is listed. A name that is not listed, such as a short (8.3)
 * name, cannot be matched against patterns and is denied.
 */
async function trueName(
  folder: string, name: string, found: FileInfo, { disk, denied, foldingIn }: ResolveContext,
): Promise<string> {
  const folding = foldingIn(folder)
  if (folding === EXACT) return name
  const names = await disk.readdir(folder)
  if (names.includes(name)) return name
  const candidates = names.filter((other) => foldNames(other, ANY) === foldNames(name, ANY))
  for (const other of candidates) {
    const same = await disk.lstat(joinNames(folder, other))
    if (same?.device === found.device && same.node === found.node) return other
  }
  throw denied()
}

const ANY: NameFolding = { case: true, normal: true }

/** A folder or file that the operator chose, and its resolved path. */
export interface RealRoot {
  readonly written: string
  readonly real: string
  readonly folding: NameFolding
  readonly exists: boolean
}

export interface RootsOptions {
  readonly disk: Disk
  readonly paths: PathModel
  readonly platform: NodeJS.Platform
}

/**
 * A cache of resolved roots. A root without links is resolved again only when a path is not where it should be. A root
 * behind a link is checked every time.
 */
export class RealRoots {
  readonly #parts: RootsOptions
  readonly #known = new Map<string, RealRoot>()

  constructor(parts: RootsOptions) {
    this.#parts = parts
  }

  async find(written: string): Promise<RealRoot> {
    const known = this.#known.get(written)
    if (known?.real === written) return known
    if (known === undefined) return this.refresh(written)
    const real = await this.#parts.disk.realpath(written).catch(() => undefined)
    return real === known.real ? known : this.refresh(written)
  }

  /** Resolves again, bypassing the cache. */
  async refresh(written: string): Promise<RealRoot> {
    const { disk, paths, platform } = this.#parts
    const before = this.#known.get(written)
    this.#known.delete(written)
    const real = await this.#locate(written).catch(() => undefined)
    const found = real === undefined ? undefined : await disk.lstat(real).catch(() => undefined)
    // An inaccessible root must not block the others.
    if (real === undefined || found === undefined) {
      return { written, real: real ?? written, folding: EXACT, exists: false }
    }
    const folder = found.kind === 'folder' ? real : parentOf(real, paths).folder
    const folding = before?.real === real ? before.folding : await probeFolding(folder, disk, paths, platform)
    const known = before?.real === real ? before : { written, real, folding, exists: true }
    this.#known.set(written, known)
    return known
  }

  /** A path that does not exist yet resolves to where it would be. */
  async #locate(path: string): Promise<string> {
    const { disk, paths } = this.#parts
    try {
      return await disk.realpath(path)
    } catch (error) {
      const { folder, name } = parentOf(path, paths)
      if (!isMissing(error) || folder === path) throw error
      return joinNames(await this.#locate(folder), name)
    }
  }
}
