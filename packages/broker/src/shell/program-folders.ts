import { basename, dirname, join } from 'node:path'
import { entriesIn, scanningOnce } from '@bulkhead/kit/folders'
import { isExecutable, isWithin, linkedFrom, realOf } from '@bulkhead/kit/programs'
import type { UntrustedFolders } from '../process/executable.ts'

/** Homes and `.local` in them; folders that every sandbox has its own of; settings of the system, which have secrets. */
const WHOLES = /^\/(?:(?:home|Users)(?:\/[^/]+)?|root)?(?:\/\.local)?$|^\/(?:tmp|(?:proc|dev|etc)(?:\/.*)?)$/

/** Whether a folder is, or contains, a home or the `.local` in it: such a folder holds more than programs. */
export const isWholeHome = (folder: string, home: string | undefined): boolean =>
  WHOLES.test(folder) || (home !== undefined && (isWithin(home, folder) || folder === join(home, '.local')))

/** Where the links to programs in a folder lead: the folder of each file on the way. */
const linkedFolders = scanningOnce((folder) => [...new Set(entriesIn(folder)
  .filter((entry) => entry.isSymbolicLink()).map(({ name }) => join(folder, name)).filter(isExecutable)
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
    const own = await this.#usableOf(this.#path)
    return this.#usableOf([...new Set(own.flatMap(foldersAt))])
  }

  async #usableOf(folders: readonly string[]): Promise<readonly string[]> {
    const usable = await Promise.all(folders.map((folder) => this.#isUsable(folder)))
    return folders.filter((_, index) => usable[index])
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
