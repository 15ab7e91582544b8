import { constants, existsSync, type Stats } from 'node:fs'
import { lstat, open, readdir, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '@bulkhead/kit/error-message'
import { isResourceShortage } from '@bulkhead/kit/processes'
import { isMissing } from './file-errors.ts'
import { joinNames, parentOf, type PathModel } from './paths.ts'

export interface FileInfo {
  readonly kind: 'file' | 'folder' | 'link' | 'other'
  readonly device: number
  readonly node: number
}

/** File system access for resolving paths. It opens no files. */
export interface Disk {
  /** undefined if nothing exists there. */
  lstat(path: string): Promise<FileInfo | undefined>
  /** undefined if it is not a link. */
  readlink(path: string): Promise<string | undefined>
  readdir(folder: string): Promise<readonly string[]>
  /** Rejects if nothing exists there. */
  realpath(path: string): Promise<string>
}

export function systemDisk(paths: PathModel): Disk {
  return {
    async lstat(path) {
      try {
        const found = await lstat(paths.write(path))
        return { kind: kindOf(found), device: found.dev, node: found.ino }
      } catch (error) {
        if (isMissing(error)) return undefined
        throw error
      }
    },
    async readlink(path) {
      try {
        return await readlink(paths.write(path))
      } catch (error) {
        if (isMissing(error) || errorCode(error) === 'EINVAL') return undefined
        throw error
      }
    },
    readdir: (folder) => readdir(paths.write(folder)),
    async realpath(path) {
      const read = paths.read(await realpath(paths.write(path)), '/')
      if ('refused' in read) throw new Error('The system returned an invalid path.')
      return read.path
    },
  }
}

const kindOf = (found: Stats): FileInfo['kind'] =>
  found.isFile() ? 'file' : found.isDirectory() ? 'folder' : found.isSymbolicLink() ? 'link' : 'other'

/** Which differences in names a file system ignores. */
export interface NameFolding {
  readonly case: boolean
  /** Unicode normalization. */
  readonly normal: boolean
}

export const EXACT: NameFolding = { case: false, normal: false }

/**
 * One spelling for all spellings of a name. Only letters with one counterpart are folded, because file systems differ
 * on the others. A spelling that is equal on disk but not here is denied; the reverse cannot happen.
 */
export function foldNames(path: string, folding: NameFolding): string {
  const normal = folding.normal ? path.normalize('NFC') : path
  return folding.case ? Array.from(normal, foldLetter).join('') : normal
}

function foldLetter(letter: string): string {
  const lower = letter.toLowerCase()
  return lower.toUpperCase() === letter ? lower : letter
}

/** The name in the other case; undefined if it has no letter that folds. */
function otherCase(name: string): string | undefined {
  const other = Array.from(name, (letter) => {
    const lower = foldLetter(letter)
    if (lower !== letter) return lower
    const upper = letter.toUpperCase()
    return foldLetter(upper) === letter ? upper : letter
  }).join('')
  return other === name ? undefined : other
}

/**
 * Finds out how the file system folds names in a folder: looks up an entry, or the folder itself, in the other case.
 * Nothing is written. On macOS every file system normalizes.
 */
export async function probeFolding(
  folder: string, disk: Disk, paths: PathModel, platform: NodeJS.Platform,
): Promise<NameFolding> {
  const folding = { case: await foldsCase(folder, disk, paths), normal: platform === 'darwin' }
  return folding.case || folding.normal ? folding : EXACT
}

async function foldsCase(folder: string, disk: Disk, paths: PathModel): Promise<boolean> {
  // A folder that cannot be listed has no entries to try. During a shortage, its parent, which may fold differently, is
  // no substitute.
  const names = await disk.readdir(folder).catch((error: unknown) => {
    if (isResourceShortage(error)) throw error
    return []
  })
  const inside = names.find((name) => otherCase(name) !== undefined)
  const asked = inside === undefined ? parentOf(folder, paths) : { folder, name: inside }
  const other = otherCase(asked.name)
  if (other === undefined) return false
  const one = await disk.lstat(joinNames(asked.folder, asked.name))
  const two = await disk.lstat(joinNames(asked.folder, other))
  return one !== undefined && two !== undefined && one.device === two.device && one.node === two.node
}

/** Flags that open a folder and follow no link. */
export const FOLDER_FLAGS = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0)

/**
 * Opens a file to read. Non-blocking, because opening a pipe without a writer blocks. O_NOCTTY, so that no terminal
 * becomes the host's.
 */
export const READ =
  constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0)

/** An open folder. It stays the same folder even if its path is replaced. */
export interface FolderHandle {
  /** Its path, as the system reports it. */
  readonly where: string
  /** A system path for a name in this folder. */
  at(name: string): string
  /** Whether a file opened at a path from `at` is in this folder. */
  holds(handle: FileHandle, path: string): Promise<boolean>
  /** Opens a folder in this one without following links. Release it. */
  child(name: string): Promise<FolderHandle>
  release(): Promise<void>
}

/** Opens a folder. Contract: rejects if the last component is a link or not a folder. Release the result. */
export type OpenFolder = (path: string) => Promise<FolderHandle>

/** On Linux, paths through /proc/self/fd stay in the opened folder, whatever happens to its name. */
export async function openByDescriptor(path: string): Promise<FolderHandle> {
  const handle = await open(path, FOLDER_FLAGS)
  const anchor = `/proc/self/fd/${handle.fd}`
  const at = (name: string): string => `${anchor}/${name}`
  try {
    return {
      where: await readlink(anchor),
      at,
      holds: async () => true,
      child: (name) => openByDescriptor(at(name)),
      release: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/**
 * Other systems only have paths. An opened file counts if the folder is still in place and the path still leads to the
 * file. This narrows the race with a replaced name, but does not close it.
 */
export async function openByPath(path: string): Promise<FolderHandle> {
  const [found, where] = [await lstat(path), await realpath(path)]
  if (!found.isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' })
  const at = (name: string): string => join(where, name)
  return {
    where,
    at,
    async holds(handle, file) {
      const [opened, named] = [await handle.stat(), await lstat(file)]
      return named.dev === opened.dev && named.ino === opened.ino && await realpath(where) === where
    },
    child: (name) => openByPath(at(name)),
    release: async () => undefined,
  }
}

/** Whether a path can go through an open descriptor here. */
export const HAS_DESCRIPTORS = process.platform === 'linux' && existsSync('/proc/self/fd')

export const folderOpener = (platform: NodeJS.Platform): OpenFolder =>
  platform === 'linux' && HAS_DESCRIPTORS ? openByDescriptor : openByPath
