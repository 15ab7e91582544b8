import type { FileHandle } from 'node:fs/promises'
import { constants, existsSync } from 'node:fs'
import { lstat, open, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'

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

/** How a system lets hold what was judged. */
export interface Holding {
  /** Contract: rejects when the last name of the path is a link or no folder. To be released. */
  folder(path: string): Promise<HeldFolder>
  /** Opens a file, its last name not followed, and says where the descriptor leads. To be closed. */
  file(path: string, flags: number): Promise<{ readonly handle: FileHandle; readonly where: string }>
}

/** Linux has a path for what a descriptor stands for. Work done by it is done in that folder, whatever its name is by then. */
export const BY_DESCRIPTOR: Holding = {
  folder: (path) => holdDescriptor(path),
  async file(path, flags) {
    const handle = await open(path, flags)
    try {
      return { handle, where: await readlink(descriptorPath(handle)) }
    } catch (error) {
      await handle.close()
      throw error
    }
  },
}

const descriptorPath = ({ fd }: FileHandle): string => `/proc/self/fd/${fd}`

async function holdDescriptor(path: string): Promise<HeldFolder> {
  const handle = await open(path, FOLDER)
  const anchor = descriptorPath(handle)
  const at = (name: string): string => `${anchor}/${name}`
  try {
    return {
      where: await readlink(anchor),
      at,
      // A descriptor leads nowhere else.
      holds: async () => true,
      child: (name) => holdDescriptor(at(name)),
      release: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/**
 * Elsewhere only paths are had. A file counts when, after it was opened, the path that was judged still leads to it: then
 * it is a file that lies there, whatever happened in between.
 */
export const BY_PATH: Holding = {
  folder: (path) => holdPath(path),
  async file(path, flags) {
    const handle = await open(path, flags)
    try {
      const where = await realpath(path)
      if (!await isNamed(handle, where)) throw moved()
      return { handle, where }
    } catch (error) {
      await handle.close()
      throw error
    }
  },
}

async function holdPath(path: string): Promise<HeldFolder> {
  const [found, where] = [await lstat(path), await realpath(path)]
  if (!found.isDirectory()) throw Object.assign(new Error('It is not a folder.'), { code: 'ENOTDIR' })
  const at = (name: string): string => join(where, name)
  return {
    where,
    at,
    holds: async (handle, path) => await realpath(where) === where && isNamed(handle, path),
    child: (name) => holdPath(at(name)),
    release: async () => undefined,
  }
}

async function isNamed(handle: FileHandle, path: string): Promise<boolean> {
  const [opened, named] = [await handle.stat(), await lstat(path)]
  return named.dev === opened.dev && named.ino === opened.ino
}

const moved = (): BulkheadError =>
  new BulkheadError('CapabilityDenied', 'The file was exchanged for another while it was opened. Try again.')

export const systemHolding = (platform: NodeJS.Platform): Holding =>
  platform === 'linux' && existsSync('/proc/self/fd') ? BY_DESCRIPTOR : BY_PATH
