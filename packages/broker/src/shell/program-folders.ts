import { lstatSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { namesIn, scanningOnce } from '@bulkhead/kit/folders'
import { isWithin, linkedFrom, realOf } from '@bulkhead/kit/programs'
import type { UntrustedFolders } from '../process/executable.ts'

/** Homes, `.local` in them, and folders that every sandbox has its own of. */
const WHOLES = /^\/(?:(?:home|Users)(?:\/[^/]+)?|root)?(?:\/\.local)?$|^\/(?:tmp|(?:proc|dev)(?:\/.*)?)$/

/** Whether a folder is, or contains, a home or the `.local` in it: such a folder holds more than programs. */
export const isWholeHome = (folder: string, home: string | undefined): boolean =>
  WHOLES.test(folder) || (home !== undefined && (isWithin(home, folder) || folder === join(home, '.local')))

/** Where links in a folder lead: the folder of each file on the way. */
const linkedFolders = scanningOnce((folder) => [...new Set(namesIn(folder)
  .map((name) => join(folder, name))
  .filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true)
  .flatMap(linkedFrom).map((path) => dirname(path)))])

/** The folders with the programs of a PATH, as written and with links followed. */
export class ProgramFolders {
  readonly #path: readonly string[]
  readonly #home: string | undefined
  readonly #untrusted: UntrustedFolders
  readonly #usable = new Map<string, Promise<boolean>>()

  constructor(path: readonly string[], home: string | undefined, untrusted: UntrustedFolders) {
    this.#path = path
    this.#home = home
    this.#untrusted = untrusted
  }

  /** Without homes, and without folders that tools can write: there they could leave programs for later commands. */
  async list(): Promise<readonly string[]> {
    const found = [...new Set(this.#path.flatMap(foldersAt))]
    const usable = await Promise.all(found.map((folder) => this.#isUsable(folder)))
    return found.filter((_, index) => usable[index])
  }

  #isUsable(folder: string): Promise<boolean> {
    return this.#usable.getOrInsertComputed(folder, async () => {
      const real = realOf(folder) ?? folder
      if (isWholeHome(folder, this.#home) || isWholeHome(real, this.#home && realOf(this.#home))) return false
      return !await this.#untrusted.reaches(folder).catch(() => true)
    })
  }
}

function foldersAt(folder: string): readonly string[] {
  const real = realOf(folder)
  if (real === undefined) return []
  return [folder, real, ...linkedFolders(folder) ?? []].flatMap((one) =>
    basename(one) === 'bin' ? [one, join(dirname(one), 'lib/node_modules')] : [one])
}
