import type { FileHandle } from 'node:fs/promises'
import { mkdir, open } from 'node:fs/promises'
import type { Power } from '@bulkhead/contract'
import type { GlobMatch } from '@bulkhead/kit/glob'
import { BulkheadError } from '@bulkhead/contract'
import type { Disk, Found } from './disk.ts'
import { systemDisk } from './disk.ts'
import type { FarFolders } from './slow-mounts.ts'
import { farFoldersHere } from './slow-mounts.ts'
import { fileFault, folderMissing, isAbsent, workspaceGone } from './file-errors.ts'
import type { HeldFolder, Holding } from './folder-handle.ts'
import { systemHolding } from './folder-handle.ts'
import { readNearFile } from './sync-read.ts'
import type { Place } from './path-policy.ts'
import { PathJudge } from './path-policy.ts'
import type { PathModel } from './paths.ts'
import { liesIn, parentOf, pathsOf } from './paths.ts'
import type { Range } from './read-file.ts'
import type { Reach } from './path-patterns.ts'

/** Folders of the host's own, canonical. */
export interface HostFolders {
  /** No pattern covers these unless it begins in them. Default: none. */
  readonly kept?: readonly string[] | undefined
  /** Never written, whatever pattern covers them: the host's code and the project layer. Default: none. */
  readonly neverWritten?: readonly string[] | undefined
}

export interface FileScopeOptions extends HostFolders {
  /** Folders whose links are followed because whoever runs the host chose them. Default: the workspace. */
  readonly roots?: readonly string[] | undefined
  /** Patterns of ceilings: a path must match one of each list as well. Default: none. */
  readonly ceilings?: readonly (readonly string[])[] | undefined
  readonly platform?: NodeJS.Platform
  readonly disk?: Disk
  readonly holding?: Holding
  /** Disks that may keep whoever asks. */
  readonly far?: FarFolders
}

/**
 * The files a grant covers. A path is judged three times: as it is written, with every link in it followed, and by the
 * descriptor of what was opened, which is what the work is then done by. The last name is never followed.
 */
export class FileScope {
  readonly #paths: PathModel
  readonly #disk: Disk
  readonly #holding: Holding
  readonly #judge: PathJudge
  readonly #far: FarFolders | undefined
  readonly #workspace: string

  constructor(power: 'fs.read' | 'fs.write', patterns: readonly string[], workspace: string, options: FileScopeOptions = {}) {
    const { platform = process.platform, roots = [workspace], kept = [], neverWritten = [], ceilings = [] } = options
    this.#paths = pathsOf(platform)
    const read = this.#paths.read(workspace, '/')
    this.#workspace = 'path' in read ? read.path : workspace
    this.#disk = options.disk ?? systemDisk(this.#paths)
    this.#holding = options.holding ?? systemHolding(platform)
    this.#far = platform === 'linux' ? options.far ?? farFoldersHere : undefined
    this.#judge = new PathJudge({ power, patterns, ceilings, roots, workspace, kept, neverWritten, platform, paths: this.#paths, disk: this.#disk })
  }

  /** Contract: rejects with CapabilityDenied for everything outside, whether it exists or not. */
  locate(given: string, reach: Reach = 'covers'): Promise<Place> {
    return this.#judge.locate(given, reach)
  }

  /**
   * What a small file holds, without waiting for the disk where that keeps nobody. The bytes are lent while `take` runs.
   * Contract: undefined when it takes more than that to tell, whatever the reason.
   */
  readAtOnce<T>(given: string, range: Range, take: (bytes: Buffer) => T): T | undefined {
    const file = this.#judge.presume(given)
    if (file === undefined || this.#far === undefined || this.#far.has(file.path)) return undefined
    const began = performance.now()
    try {
      return readNearFile(file, range, take)
    } finally {
      this.#far.took(performance.now() - began)
    }
  }

  /** What the grant has to do with paths that are real already. */
  matcher(): Promise<(real: string) => GlobMatch> {
    return this.#judge.matcher()
  }

  /** Whether a folder is of the grant with everything that may lie in it. */
  coversAll(place: Place): Promise<boolean> {
    return this.#judge.coversAll(place)
  }

  isRoot(place: Place): Promise<boolean> {
    return this.#judge.isRoot(place)
  }

  /** Whether the system means a real path by what it says. */
  isAt(where: string, real: string): boolean {
    return this.#judge.isAt(where, real)
  }

  parent({ real }: Place): { readonly folder: string; readonly name: string } {
    return parentOf(real, this.#paths)
  }

  /** What lies at a place; undefined when nothing does. */
  look({ given, real }: Place): Promise<Found | undefined> {
    return fileFault(given, () => this.#disk.look(real))
  }

  /** Does something to a name in its folder, held and proved to be the folder that was judged. */
  inFolder<T>(place: Place, work: (folder: HeldFolder, name: string) => Promise<T>): Promise<T> {
    const { folder: path, name } = this.parent(place)
    return fileFault(place.given, () => this.#held(place.given, path, (folder) => work(folder, name)))
  }

  /** The same; folders that are missing on the way are made first, where the grant covers them. */
  async inMadeFolder<T>(place: Place, work: (folder: HeldFolder, name: string) => Promise<T>): Promise<T> {
    let begun = false
    const begin = (folder: HeldFolder, name: string): Promise<T> => {
      begun = true
      return work(folder, name)
    }
    try {
      return await this.inFolder(place, begin)
    } catch (error) {
      if (begun || !BulkheadError.is(error) || error.code !== 'NotFound') throw error
    }
    if (liesIn(place.real, this.#workspace) && await this.#disk.look(this.#workspace) === undefined) throw workspaceGone(place.given)
    const match = await this.matcher()
    await fileFault(place.given, () => this.#make(place.given, this.parent(place).folder, match))
    try {
      return await this.inFolder(place, begin)
    } catch (error) {
      throw !begun && BulkheadError.is(error) && isAbsent(error.cause) ? folderMissing(place.given) : error
    }
  }

  /** Does something with a folder itself. */
  asFolder<T>({ given, real }: Place, work: (folder: HeldFolder) => Promise<T>): Promise<T> {
    return fileFault(given, () => this.#held(given, real, work))
  }

  /** Does something with a file, opened in its folder. The flags say that its name is not followed. */
  withFile<T>(place: Place, flags: number, work: (handle: FileHandle) => Promise<T>): Promise<T> {
    return this.inFolder(place, async (folder, name) => {
      const path = folder.at(name)
      const handle = await open(path, flags)
      try {
        if (!await folder.holds(handle, path)) throw this.#judge.denied(place.given)
        return await work(handle)
      } finally {
        await handle.close()
      }
    })
  }

  async #held<T>(given: string, path: string, work: (folder: HeldFolder) => Promise<T>): Promise<T> {
    const folder = await this.#holding(this.#paths.write(path))
    try {
      if (!this.#judge.isAt(folder.where, path)) throw this.#judge.denied(given)
      return await work(folder)
    } finally {
      await folder.release()
    }
  }

  async #make(given: string, path: string, match: (real: string) => GlobMatch): Promise<void> {
    if (!match(path).covers || await this.#disk.look(path) !== undefined) return
    const { folder: above, name } = parentOf(path, this.#paths)
    if (above === path) return
    await this.#make(given, above, match)
    await this.#held(given, above, (folder) => mkdir(folder.at(name))).catch((error: unknown) => {
      // Somebody else was quicker; what they made is judged when it is held.
      if ((error as { readonly code?: unknown }).code !== 'EEXIST') throw error
    })
  }
}

export const scopeOf = ({ fs, ceilings = [] }: Power, power: 'fs.read' | 'fs.write', workspace: string, folders: HostFolders): FileScope => {
  const access = power === 'fs.read' ? 'read' : 'write'
  const { kept, neverWritten } = folders
  return new FileScope(power, fs[access], workspace, { kept, neverWritten, roots: fs.roots, ceilings: ceilings.map((ceiling) => ceiling.fs[access]) })
}
