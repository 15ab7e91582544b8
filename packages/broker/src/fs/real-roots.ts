import type { Disk } from './disk.ts'
import { isMissing } from './file-errors.ts'
import type { NameFolding } from './name-folding.ts'
import { EXACT, probeFolding } from './name-folding.ts'
import type { PathModel } from './paths.ts'
import { joinNames, parentOf } from './paths.ts'

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
    const real = await this.#parts.disk.real(written).catch(() => undefined)
    return real === known.real ? known : this.refresh(written)
  }

  /** Resolves again, bypassing the cache. */
  async refresh(written: string): Promise<RealRoot> {
    const { disk, paths, platform } = this.#parts
    const before = this.#known.get(written)
    this.#known.delete(written)
    const real = await this.#locate(written).catch(() => undefined)
    const found = real === undefined ? undefined : await disk.look(real).catch(() => undefined)
    // An inaccessible root must not block the others.
    if (real === undefined || found === undefined) return { written, real: real ?? written, folding: EXACT, exists: false }
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
      return await disk.real(path)
    } catch (error) {
      const { folder, name } = parentOf(path, paths)
      if (!isMissing(error) || folder === path) throw error
      return joinNames(await this.#locate(folder), name)
    }
  }
}
