import type { FileHandle } from 'node:fs/promises'
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Power, UseRules } from '@bulkhead/contract'
import type { GlobMatch } from '@bulkhead/kit/glob'
import { errorCode } from '@bulkhead/kit/error-message'
import { BulkheadError } from '@bulkhead/contract'
import {
  folderOpener, systemDisk, type Disk, type FileInfo, type FolderHandle, type OpenFolder,
} from './disk.ts'
import { ABSENT, NEW_FOLDER, type BeforeChange } from './change-record.ts'
import { readSmallFile, slowMounts, type ByteRange, type SlowMounts } from './sync-read.ts'
import { withFileErrors, folderMissing, workspaceGone } from './file-errors.ts'
import { PathPolicy, type ResolvedPath } from './path-policy.ts'
import { liesIn, parentOf, pathsOf, type PathModel } from './paths.ts'
import type { Reach } from './path-patterns.ts'
import { requireUse } from '../model/ruled-use.ts'

/** Folders of the host, canonical. */
export interface HostFolders {
  /** No pattern covers these unless it begins there. Default: none. */
  readonly reserved?: readonly string[] | undefined
  /** Never written, whatever pattern covers them: code of the host, the project layer, the store. Default: none. */
  readonly readOnly?: readonly string[] | undefined
  /** Those of them that no command writes either. Default: none. */
  readonly storeFiles?: readonly string[] | undefined
  /** The name of the project layer, which is never written in any root. */
  readonly layerName?: string | undefined
}

export interface FileScopeOptions extends HostFolders {
  /** Folders that the operator chose. Their links are followed. Default: the workspace. */
  readonly roots?: readonly string[] | undefined
  /** Patterns of ceilings. A path must also match one of each list. Default: none. */
  readonly ceilings?: readonly (readonly string[])[] | undefined
  readonly platform?: NodeJS.Platform
  readonly disk?: Disk
  readonly openFolder?: OpenFolder
  /** Mounts on which a read may block. */
  readonly slowMounts?: SlowMounts
}

/** A path that is already resolved. */
export interface ScopeMatch extends GlobMatch {
  /** The grant covers it, and rules deny it or ask about it. */
  readonly isLeftOut?: true
}

/**
 * The files a grant covers. A path is checked three times: as written, with all links resolved, and by the descriptor
 * that was opened, through which all work is done. The last component is never followed. Where the grant is checked, the
 * rules of the call are checked too.
 */
export class FileScope {
  readonly #paths: PathModel
  readonly #disk: Disk
  readonly #openFolder: OpenFolder
  readonly #policy: PathPolicy
  readonly #slowMounts: SlowMounts | undefined
  readonly #workspace: string
  readonly #power: 'fs.read' | 'fs.write'
  readonly #options: FileScopeOptions
  readonly #uses: UseRules | undefined

  constructor(
    power: 'fs.read' | 'fs.write', patterns: readonly string[], workspace: string, options: FileScopeOptions = {},
    ofCall: { readonly policy?: PathPolicy; readonly uses?: UseRules } = {},
  ) {
    this.#power = power
    this.#options = options
    this.#uses = ofCall.uses
    const { platform = process.platform, roots = [workspace], reserved = [], readOnly = [], ceilings = [] } = options
    this.#paths = pathsOf(platform)
    const read = this.#paths.read(workspace, '/')
    this.#workspace = 'path' in read ? read.path : workspace
    this.#disk = options.disk ?? systemDisk(this.#paths)
    this.#openFolder = options.openFolder ?? folderOpener(platform)
    this.#slowMounts = platform === 'linux' ? options.slowMounts ?? slowMounts : undefined
    this.#policy = ofCall.policy ?? new PathPolicy({
      power, patterns, ceilings, roots, workspace, reserved, readOnly, platform, paths: this.#paths, disk: this.#disk,
    })
  }

  /** The same files under the rules of one call. */
  under(uses: UseRules | undefined): FileScope {
    return uses === undefined ? this
      : new FileScope(this.#power, [], this.#workspace, this.#options, { policy: this.#policy, uses })
  }

  /**
   * Contract: rejects with CapabilityDenied for everything outside, whether it exists or not, then with RuleDenied or
   * ApprovalDenied for what rules refuse.
   */
  async locate(given: string, reach: Reach = 'covers'): Promise<ResolvedPath> {
    return this.#ruled(await this.#policy.locate(given, reach))
  }

  /** The same for a name itself: a link is not followed. */
  async locateName(given: string): Promise<ResolvedPath> {
    return this.#ruled(await this.#policy.locate(given, 'covers', true))
  }

  async #ruled(resolved: ResolvedPath): Promise<ResolvedPath> {
    if (this.#uses !== undefined) {
      await requireUse(this.#uses, this.#power, resolved.real, resolved.written ?? resolved.real)
    }
    return resolved
  }

  /** `why` ends a sentence that begins with the path. */
  denied(given: string, why: string): BulkheadError {
    return this.#policy.denied(given, why)
  }

  /**
   * Reads a small file synchronously from a local disk. The bytes are valid only while `take` runs.
   * Contract: undefined if that is not possible, for whatever reason; use the asynchronous way then.
   */
  readSync<T>(given: string, range: ByteRange, take: (bytes: Buffer) => T): T | undefined {
    const file = this.#policy.unverified(given)
    if (file !== undefined && this.#uses?.judge(this.#power, file.path) !== undefined) return undefined
    if (file === undefined || this.#slowMounts === undefined || this.#slowMounts.has(file.path)) return undefined
    const began = performance.now()
    try {
      return readSmallFile(file, range, take)
    } finally {
      this.#slowMounts.record(performance.now() - began)
    }
  }

  /** Whether rules could leave something out. */
  get isRuled(): boolean {
    return this.#uses !== undefined
  }

  /** Matches paths that are already resolved. What rules deny or ask about is left out. */
  async matcher(): Promise<(real: string) => ScopeMatch> {
    const granted = await this.#policy.matcher()
    const [uses, power] = [this.#uses, this.#power]
    if (uses === undefined) return granted
    const isLookedInto = uses.deniedPaths?.hasExceptions === true
    return (real) => {
      const match = granted(real)
      if ((!match.covers && !match.leads) || uses.judge(power, real) === undefined) return match
      return { covers: false, leads: match.leads && isLookedInto, ...(match.covers && { isLeftOut: true }) }
    }
  }

  /** Whether the grant covers a folder with everything below it, and no rule could leave something out. */
  async coversAll(resolved: ResolvedPath): Promise<boolean> {
    return this.#uses === undefined && await this.#policy.coversAll(resolved)
  }

  isRoot(resolved: ResolvedPath): Promise<boolean> {
    return this.#policy.isRoot(resolved)
  }

  /** Whether it is in the workspace, by their real paths. False if the workspace is gone. */
  async isInWorkspace({ real }: ResolvedPath): Promise<boolean> {
    const workspace = await this.#disk.realpath(this.#workspace).catch(() => undefined)
    return workspace !== undefined && liesIn(real, workspace)
  }

  /** In the syntax of the system. */
  pathOf({ real }: ResolvedPath): string {
    return this.#paths.write(real)
  }

  /** Whether a path reported by the system is this resolved path. */
  isAt(where: string, real: string): boolean {
    return this.#policy.isAt(where, real)
  }

  parent({ real }: ResolvedPath): { readonly folder: string; readonly name: string } {
    return parentOf(real, this.#paths)
  }

  /** undefined if nothing exists there. */
  lstat({ given, real }: ResolvedPath): Promise<FileInfo | undefined> {
    return withFileErrors(given, () => this.#disk.lstat(real))
  }

  /** Works on a name in its folder. The folder is open and verified to be the one that was checked. */
  inFolder<T>(resolved: ResolvedPath, work: (folder: FolderHandle, name: string) => Promise<T>): Promise<T> {
    const { folder: path, name } = this.parent(resolved)
    return withFileErrors(resolved.given, () => this.#withFolder(resolved.given, path, (folder) => work(folder, name)))
  }

  /** The same, but first creates missing folders that the grant covers. */
  async inCreatedFolder<T>(
    resolved: ResolvedPath, work: (folder: FolderHandle, name: string) => Promise<T>, before: BeforeChange,
  ): Promise<T> {
    let hasStarted = false
    const begin = (folder: FolderHandle, name: string): Promise<T> => {
      hasStarted = true
      return work(folder, name)
    }
    try {
      return await this.inFolder(resolved, begin)
    } catch (error) {
      if (hasStarted || !BulkheadError.is(error) || error.code !== 'NotFound') throw error
    }
    if (liesIn(resolved.real, this.#workspace) && await this.#disk.lstat(this.#workspace) === undefined) {
      throw workspaceGone(resolved.given)
    }
    const match = await this.matcher()
    await withFileErrors(resolved.given, () => this.#create(resolved.given, this.parent(resolved).folder, match, before))
    try {
      return await this.inFolder(resolved, begin)
    } catch (error) {
      const isMissingFolder = !hasStarted && BulkheadError.is(error) && errorCode(error.cause) === 'ENOENT'
      throw isMissingFolder ? folderMissing(resolved.given) : error
    }
  }

  /** Works on a folder itself. */
  asFolder<T>({ given, real }: ResolvedPath, work: (folder: FolderHandle) => Promise<T>): Promise<T> {
    return withFileErrors(given, () => this.#withFolder(given, real, work))
  }

  /** Works on a file, opened in its folder. Contract: the flags include O_NOFOLLOW. */
  withFile<T>(resolved: ResolvedPath, flags: number, work: (handle: FileHandle) => Promise<T>): Promise<T> {
    return this.inFolder(resolved, async (folder, name) => {
      const path = folder.at(name)
      const handle = await open(path, flags)
      try {
        if (!await folder.holds(handle, path)) throw this.#policy.denied(resolved.given)
        return await work(handle)
      } finally {
        await handle.close()
      }
    })
  }

  async #withFolder<T>(given: string, path: string, work: (folder: FolderHandle) => Promise<T>): Promise<T> {
    const folder = await this.#openFolder(this.#paths.write(path))
    try {
      if (!this.#policy.isAt(folder.where, path)) throw this.#policy.denied(given)
      return await work(folder)
    } finally {
      await folder.release()
    }
  }

  async #create(
    given: string, path: string, match: (real: string) => GlobMatch, before: BeforeChange,
  ): Promise<void> {
    if (!match(path).covers || await this.#disk.lstat(path) !== undefined) return
    const { folder: above, name } = parentOf(path, this.#paths)
    if (above === path) return
    await this.#create(given, above, match, before)
    await this.#withFolder(given, above, async (folder) => {
      await before.record?.({ path: this.#paths.write(path), before: ABSENT, after: NEW_FOLDER })
      await before.begin?.()
      await mkdir(folder.at(name))
    }).catch((error: unknown) => {
      // Created concurrently. It is verified when it is opened.
      if (errorCode(error) !== 'EEXIST') throw error
    })
  }
}

export function scopeOf(
  { fs, ceilings = [] }: Power, power: 'fs.read' | 'fs.write', workspace: string,
  { reserved, readOnly = [], layerName }: HostFolders,
): FileScope {
  const access = power === 'fs.read' ? 'read' : 'write'
  const layers = layerName === undefined ? [] : (fs.commandRoots ?? []).map((root) => join(root, layerName))
  return new FileScope(power, fs[access], workspace, {
    reserved, readOnly: [...readOnly, ...layers], roots: fs.roots,
    ceilings: ceilings.map((ceiling) => ceiling.fs[access]),
  })
}
