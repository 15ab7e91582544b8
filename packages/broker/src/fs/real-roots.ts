import type { Disk } from './disk.ts'
import { isMissing } from './file-errors.ts'
import type { NameFolding } from './name-folding.ts'
import { EXACT, probeFolding } from './name-folding.ts'
import type { PathModel } from './paths.ts'
import { joinNames, parentOf } from './paths.ts'

/** A folder, or a file, that whoever runs the host chose, and where it really lies. */
export interface RealRoot {
  readonly written: string
  readonly real: string
  readonly folding: NameFolding
  /** Whether it was there to be looked at. */
  readonly exists: boolean
}

export interface RootsParts {
  readonly disk: Disk
  readonly paths: PathModel
  readonly platform: NodeJS.Platform
}

/**
 * Where roots really lie, remembered. One that was reached without a link is not looked at again before something is
 * not found where it should be: what lies below the very path that was granted is granted. One behind a link is asked
 * each time whether it still leads there.
 */
export class RealRoots {
  readonly #parts: RootsParts
  readonly #known = new Map<string, RealRoot>()

  constructor(parts: RootsParts) {
    this.#parts = parts
  }

  async find(written: string): Promise<RealRoot> {
    const known = this.#known.get(written)
    if (known?.real === written) return known
    if (known === undefined) return this.refresh(written)
    const real = await this.#parts.disk.real(written).catch(() => undefined)
    return real === known.real ? known : this.refresh(written)
  }

  /** Looks again, whatever is remembered. */
  async refresh(written: string): Promise<RealRoot> {
    const { disk, paths, platform } = this.#parts
    const before = this.#known.get(written)
    this.#known.delete(written)
    const real = await this.#locate(written).catch(() => undefined)
    const found = real === undefined ? undefined : await disk.look(real).catch(() => undefined)
    // One that cannot be looked at does not keep the others from being used.
    if (real === undefined || found === undefined) return { written, real: real ?? written, folding: EXACT, exists: false }
    const folder = found.kind === 'folder' ? real : parentOf(real, paths).folder
    const folding = before?.real === real ? before.folding : await probeFolding(folder, disk, paths, platform)
    const known = before?.real === real ? before : { written, real, folding, exists: true }
    this.#known.set(written, known)
    return known
  }

  /** What does not exist yet is where it would be. */
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
