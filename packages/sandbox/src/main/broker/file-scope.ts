import type { FileHandle } from 'node:fs/promises'
import { constants } from 'node:fs'
import { open, readlink, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { BulkheadError, pathMatches } from '@bulkhead/contract'
import { fileFault, isMissing } from './file-fault.ts'

const PATH_CHARS = 4_096
const FOLDER = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0)

/** A folder held open while something is done in it. */
export interface HeldFolder {
  /** A path of a name in this folder that keeps meaning this folder, whatever happens to the names above it. */
  at(name: string): string
}

/** One file or folder a tool named: where it really lies, or would. */
export interface Place {
  /** As the tool wrote it, for messages. */
  readonly given: string
  readonly real: string
}

/**
 * The files a grant covers. A path is judged three times: as it is written, with every link in it followed, and on the
 * descriptor of the folder it lies in, which is what the work is then done by. The last name is never followed.
 */
export class FileScope {
  readonly #patterns: readonly string[]
  readonly #workspace: string
  readonly #power: 'fs.read' | 'fs.write'

  constructor(power: 'fs.read' | 'fs.write', patterns: readonly string[], workspace: string) {
    this.#power = power
    this.#patterns = patterns
    this.#workspace = workspace
  }

  /** Contract: rejects with CapabilityDenied for everything outside, whether it exists or not. */
  async locate(given: string): Promise<Place> {
    if (given === '' || given.length > PATH_CHARS || given.includes('\0')) {
      throw new BulkheadError('InputInvalid', 'The path is empty, too long, or has a NUL in it.')
    }
    const written = resolve(this.#workspace, given)
    if (!pathMatches(this.#patterns, written)) throw this.#denied(given)
    return fileFault(given, async () => {
      const real = await realLocation(written)
      if (!pathMatches(await this.#realPatterns(), real)) throw this.#denied(given)
      return { given, real }
    })
  }

  /** Does something to a name in its folder, held open and proved to be the folder that was judged. */
  async inFolder<T>({ given, real }: Place, work: (folder: HeldFolder, name: string) => Promise<T>): Promise<T> {
    return this.#hold(given, dirname(real), (folder, where) => {
      const name = basename(real)
      if (where !== dirname(real)) throw this.#denied(given)
      return work(folder, name === '' ? '.' : name)
    })
  }

  /** Does something with a folder itself. */
  async asFolder<T>({ given, real }: Place, work: (folder: HeldFolder) => Promise<T>): Promise<T> {
    return this.#hold(given, real, async (folder, where) => {
      if (!pathMatches(await this.#realPatterns(), where)) throw this.#denied(given)
      return work(folder)
    })
  }

  async #hold<T>(given: string, path: string, work: (folder: HeldFolder, where: string) => Promise<T>): Promise<T> {
    return fileFault(given, async () => {
      const handle = await open(path, FOLDER)
      try {
        const anchor = await descriptorPath(handle)
        return anchor === undefined
          ? await work({ at: (name) => join(path, name) }, await realpath(path))
          : await work({ at: (name) => `${anchor}/${name}` }, await readlink(anchor))
      } finally {
        await handle.close()
      }
    })
  }

  /** The roots of patterns may be links themselves, such as a workspace opened through one. */
  #realPatterns(): Promise<readonly string[]> {
    return Promise.all(this.#patterns.map(async (pattern) => {
      const segments = pattern.split('/')
      const wild = segments.findIndex((segment) => segment.includes('*'))
      const root = wild < 0 ? pattern : segments.slice(0, wild).join('/')
      const rest = wild < 0 ? [] : segments.slice(wild)
      return [await realLocation(root === '' ? '/' : root), ...rest].join('/').replace(/^\/\//, '/')
    }))
  }

  #denied(given: string): BulkheadError {
    const act = this.#power === 'fs.read' ? 'read' : 'write'
    return new BulkheadError(
      'CapabilityDenied',
      `"${given}" lies outside what the tool may ${act}. Declare it in \`requires.fs\`, or name a path inside.`,
      { data: { power: this.#power, path: given } },
    )
  }
}

/** Where a path leads with all links followed; what does not exist yet is judged by where it would be. */
async function realLocation(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (!isMissing(error) || dirname(path) === path) throw error
    return join(await realLocation(dirname(path)), basename(path))
  }
}

/** Linux names an open descriptor by a path; elsewhere the folder is judged by its path once more. */
async function descriptorPath(handle: FileHandle): Promise<string | undefined> {
  const path = `/proc/self/fd/${handle.fd}`
  try {
    await readlink(path)
    return path
  } catch {
    return undefined
  }
}
