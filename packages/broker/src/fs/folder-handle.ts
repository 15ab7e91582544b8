import { constants, existsSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { lstat, open, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'

const FOLDER = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0)

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
  const handle = await open(path, FOLDER)
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

export const folderOpener = (platform: NodeJS.Platform): OpenFolder =>
  platform === 'linux' && existsSync('/proc/self/fd') ? openByDescriptor : openByPath
