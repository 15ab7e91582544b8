import { posix } from 'node:path'
import type { FileReader } from '@bulkhead/contract'

export interface FilesBelow {
  /** Relative to the folder, in any order. Ignored files are left out. */
  readonly paths: readonly string[]
  /** How many there are, including those beyond the limit. */
  readonly total: number
  /** How many are not among them because rules deny them or ask about them. */
  readonly leftOut?: number | undefined
}

/** The files of a folder and of all folders in it. */
export async function filesBelow(fs: FileReader, folder: string, limit: number): Promise<FilesBelow> {
  const { paths, total, leftOut } = await fs.find('**/*', { path: folder, limit, order: 'any' })
  const shown = posix.normalize(folder).replace(/\/$/, '')
  const skipped = shown === '.' ? 0 : shown.length + 1
  return { paths: paths.map((path) => path.slice(skipped)), total, leftOut }
}

/** Requests at once. More of them would only wait. */
const AT_ONCE = 32

/** The sizes of files in bytes. null for one that was removed meanwhile. */
export async function sizesOf(
  fs: FileReader, paths: readonly string[], signal: AbortSignal,
): Promise<readonly (number | null)[]> {
  const sizes: (number | null)[] = []
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    signal.throwIfAborted()
    const some = paths.slice(at, at + AT_ONCE).map((path) => fs.stat(path).then(({ size }) => size, () => null))
    sizes.push(...await Promise.all(some))
  }
  return sizes
}

/** The folders that a relative path is in, the nearest first. */
export function foldersOf(path: string): readonly string[] {
  const folders: string[] = []
  for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1)) {
    folders.push(path.slice(0, slash))
  }
  return folders
}
