import { lstat, readdir, readlink, realpath } from 'node:fs/promises'
import { isMissing } from './file-errors.ts'
import type { PathModel } from './paths.ts'

export interface Found {
  readonly kind: 'file' | 'folder' | 'link' | 'other'
  readonly device: number
  readonly node: number
}

/** What finding out where a path leads needs of a file system. Nothing here opens a file. */
export interface Disk {
  /** What lies at a path, its last name not followed; undefined when nothing does. */
  look(path: string): Promise<Found | undefined>
  /** Where a link leads, as it is written in it; undefined when it is none any more. */
  target(path: string): Promise<string | undefined>
  names(folder: string): Promise<readonly string[]>
  /** With every link followed, as the system spells it. Rejects when nothing is there. */
  real(path: string): Promise<string>
}

export function systemDisk(paths: PathModel): Disk {
  return {
    async look(path) {
      try {
        const found = await lstat(paths.write(path))
        const kind = found.isFile() ? 'file' : found.isDirectory() ? 'folder' : found.isSymbolicLink() ? 'link' : 'other'
        return { kind, device: found.dev, node: found.ino }
      } catch (error) {
        if (isMissing(error)) return undefined
        throw error
      }
    },
    async target(path) {
      try {
        return await readlink(paths.write(path))
      } catch (error) {
        if (isMissing(error) || (error as { readonly code?: unknown }).code === 'EINVAL') return undefined
        throw error
      }
    },
    names: (folder) => readdir(paths.write(folder)),
    async real(path) {
      const read = paths.read(await realpath(paths.write(path)), '/')
      if ('refused' in read) throw new Error('The system names a place that cannot be named.')
      return read.path
    },
  }
}
