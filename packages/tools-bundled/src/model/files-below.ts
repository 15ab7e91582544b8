import { posix } from 'node:path'
import type { FileReader } from '@bulkhead/contract'

export interface FilesBelow {
  /** Relative to the folder, in any order. Ignored files are left out. */
  readonly paths: readonly string[]
  /** How many there are, including those beyond the limit. */
  readonly total: number
}

/** The files of a folder and of all folders in it. */
export async function filesBelow(fs: FileReader, folder: string, limit: number): Promise<FilesBelow> {
  const { paths, total } = await fs.find('**/*', { path: folder, limit, order: 'any' })
  const shown = posix.normalize(folder).replace(/\/$/, '')
  const skipped = shown === '.' ? 0 : shown.length + 1
  return { paths: paths.map((path) => path.slice(skipped)), total }
}

/** The folders that a relative path is in, the nearest first. */
export function foldersOf(path: string): readonly string[] {
  const folders: string[] = []
  for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1)) {
    folders.push(path.slice(0, slash))
  }
  return folders
}
