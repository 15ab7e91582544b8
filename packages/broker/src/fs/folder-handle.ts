import { constants, existsSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { lstat, open, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'

const FOLDER = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0)

/** A folder that keeps its meaning while something is done in it. */
export interface HeldFolder {
  /** Where it lies, as the system says. */
  readonly where: string
  /** A path of a name in this folder for the system. */
  at(name: string): string
  /** Whether a file opened at a path of `at` lies in this folder. */
  holds(handle: FileHandle, path: string): Promise<boolean>
  /** A folder in this one, its name not followed. To be released. */
  child(name: string): Promise<HeldFolder>
  release(): Promise<void>
}

/** How a system lets hold a folder. Contract: rejects when the last name of the path is a link or no folder. To be released. */
export type Holding = (path: string) => Promise<HeldFolder>

/** Linux has a path for what a descriptor stands for. Work done by it is done in that folder, whatever its name is by then. */
export async function holdByDescriptor(path: string): Promise<HeldFolder> {
  const handle = await open(path, FOLDER)
  const anchor = `/proc/self/fd/${handle.fd}`
  const at = (name: string): string => `${anchor}/${name}`
  try {
    return {
      where: await readlink(anchor),
      at,
      // A descriptor leads nowhere else.
      holds: async () => true,
      child: (name) => holdByDescriptor(at(name)),
      release: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/**
 * Elsewhere only paths are had. Whatever was opened by one counts when the folder is still where it was and the path still
 * leads to it. That narrows the moment in which a name can be exchanged; it does not close it.
 */
export async function holdByPath(path: string): Promise<HeldFolder> {
  const [found, where] = [await lstat(path), await realpath(path)]
  if (!found.isDirectory()) throw Object.assign(new Error('It is not a folder.'), { code: 'ENOTDIR' })
  const at = (name: string): string => join(where, name)
  return {
    where,
    at,
    async holds(handle, file) {
      const [opened, named] = [await handle.stat(), await lstat(file)]
      return named.dev === opened.dev && named.ino === opened.ino && await realpath(where) === where
    },
    child: (name) => holdByPath(at(name)),
    release: async () => undefined,
  }
}

export const systemHolding = (platform: NodeJS.Platform): Holding =>
  platform === 'linux' && existsSync('/proc/self/fd') ? holdByDescriptor : holdByPath
