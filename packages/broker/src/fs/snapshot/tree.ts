import { closeSync, lstatSync, opendirSync, openSync, readdirSync, readlinkSync, type Dir, type Stats } from 'node:fs'
import { join, relative } from 'node:path'
import { RECORD_LIMITS } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import { pathsAt } from '@bulkhead/kit/folders'
import { FOLDER_FLAGS, HAS_DESCRIPTORS } from '../disk.ts'
import { isMissing } from '../file-errors.ts'
import type { HostFolders } from '../file-scope.ts'
import { liesIn } from '../paths.ts'
import { isSliceSpent, nextSlice } from '../search/file-pattern.ts'
import { slowMounts } from '../sync-read.ts'
import { isTemporaryName } from '../write-file.ts'
import { NotRecorded, tooMany } from './limits.ts'
import { foldersWithFiles } from './unignored.ts'

/** A folder that is longer has more files than the limit, or had. To read it would hold up the process. */
const LIST_BYTES = 8 * 1024 ** 2
/** Their content is kept elsewhere, or can be made again. */
const LEFT_OUT: ReadonlySet<string> = new Set(['node_modules', '.git', '.hg', '.svn', '.jj'])

export type TreeEntry =
  | { readonly kind: 'file'; readonly found: Stats }
  | { readonly kind: 'folder'; readonly found: Stats }
  | { readonly kind: 'link'; readonly target: string }

export interface Tree {
  /** By absolute path, each folder before what is in it. */
  readonly entries: ReadonlyMap<string, TreeEntry>
  /** Folders that were left out because ignore files exclude every file in them. */
  readonly ignored: ReadonlySet<string>
}

export interface TreeRequest {
  /** Canonical. */
  readonly roots: readonly string[]
  readonly folders: HostFolders
  readonly signal: AbortSignal
  /** What was there before. Then the same folders are read, whatever ignore files say now. */
  readonly before?: Tree
}

/**
 * Everything in the folders, without what LEFT_OUT, ignore files and the places of the host exclude. No link is followed,
 * also if it replaces a folder meanwhile. Rejects with NotRecorded beyond the limits, and for a folder that cannot be
 * read. Synchronous calls in short slices: the thread pool takes several times as long.
 */
export async function readTree(request: TreeRequest): Promise<Tree> {
  await slowMounts.read()
  const reader = new TreeReader(request)
  const outermost = request.roots.filter((root) =>
    !request.roots.some((other) => other !== root && liesIn(root, other)))
  for (const root of new Set(outermost)) await reader.readRoot(root)
  return reader
}

class TreeReader implements Tree {
  readonly entries = new Map<string, TreeEntry>()
  readonly ignored = new Set<string>()
  readonly #request: TreeRequest
  readonly #excluded: ReadonlySet<string>
  #files = 0
  #folders = 0
  /** Of the root that is being read. */
  #withFiles: Promise<ReadonlySet<string>> | undefined

  constructor(request: TreeRequest) {
    const { roots, folders: { reserved = [], readOnly = [], layerName } } = request
    this.#request = request
    this.#excluded = new Set([
      ...reserved, ...readOnly.flatMap(pathsAt),
      ...(layerName === undefined ? [] : roots.map((root) => join(root, layerName))),
    ])
  }

  async readRoot(root: string): Promise<void> {
    this.#withFiles = undefined
    await this.#readFolder(root, root, root, 0).catch((error: unknown) => {
      // A command may have removed it.
      if (!isMissing(error) || this.#request.before === undefined) throw error
    })
  }

  /** `at`: the folder, through the descriptor of the one above. */
  async #readFolder(root: string, path: string, at: string, level: number): Promise<void> {
    // Each level holds a descriptor.
    const { folderDepth } = RECORD_LIMITS
    if (level > folderDepth) throw new NotRecorded(`"${path}" is more than ${folderDepth} folders deep`)
    if (process.platform === 'linux' && slowMounts.has(path)) {
      throw new NotRecorded(`"${path}" is on a network or a slow file system`)
    }
    const descriptor = openFolder(at, path)
    const anchor = HAS_DESCRIPTORS ? `/proc/self/fd/${descriptor}` : path
    try {
      for (const name of this.#namesIn(anchor)) {
        if (isSliceSpent()) await nextSlice()
        this.#request.signal.throwIfAborted()
        const inside = join(path, name)
        if (this.#excluded.has(inside)) continue
        const found = lstatSync(`${anchor}/${name}`, { throwIfNoEntry: false })
        if (found?.isDirectory()) await this.#addFolder(root, inside, `${anchor}/${name}`, found, level + 1)
        else if (found?.isFile()) this.entries.set(inside, { kind: 'file', found })
        else if (found?.isSymbolicLink()) this.#addLink(inside, `${anchor}/${name}`)
      }
    } finally {
      closeSync(descriptor)
    }
  }

  #namesIn(anchor: string): readonly string[] {
    if (lstatSync(`${anchor}/.`).size > LIST_BYTES) throw tooMany('files')
    const entries = readdirSync(anchor, { withFileTypes: true })
      .filter(({ name }) => !LEFT_OUT.has(name) && !isTemporaryName(name))
    const folders = entries.filter((entry) => entry.isDirectory()).length
    this.#folders += folders
    this.#files += entries.length - folders
    if (this.#folders > RECORD_LIMITS.files) throw tooMany('folders')
    if (this.#files > RECORD_LIMITS.files) throw tooMany('files')
    return entries.map(({ name }) => name)
  }

  async #addFolder(root: string, path: string, at: string, found: Stats, level: number): Promise<void> {
    const { before } = this.#request
    if (before?.ignored.has(path)) return
    if (before?.entries.get(path)?.kind !== 'folder' && await this.#isIgnored(root, path, at)) {
      this.ignored.add(path)
      return
    }
    this.entries.set(path, { kind: 'folder', found })
    await this.#readFolder(root, path, at, level).catch((error: unknown) => {
      if (!isMissing(error)) throw error
    })
  }

  /** It has files, and each is ignored. */
  async #isIgnored(root: string, path: string, at: string): Promise<boolean> {
    this.#withFiles ??= foldersWithFiles(root, this.#request.signal)
    return !(await this.#withFiles).has(relative(root, path)) && hasFile(at)
  }

  #addLink(path: string, at: string): void {
    try {
      this.entries.set(path, { kind: 'link', target: readlinkSync(at) })
    } catch (error) {
      // Replaced meanwhile.
      if (!isMissing(error) && errorCode(error) !== 'EINVAL') throw error
    }
  }
}

function openFolder(at: string, path: string): number {
  try {
    return openSync(at, FOLDER_FLAGS)
  } catch (error) {
    if (isMissing(error)) throw error
    throw new NotRecorded(`"${path}" cannot be read (${errorCode(error) ?? 'unknown'})`, { cause: error })
  }
}

/** False if it is gone. */
function hasFile(at: string): boolean {
  const folder = openList(at)
  try {
    for (let entry = folder?.readSync(); entry; entry = folder?.readSync()) if (entry.isFile()) return true
    return false
  } finally {
    folder?.closeSync()
  }
}

function openList(at: string): Dir | undefined {
  try {
    return opendirSync(at)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}
