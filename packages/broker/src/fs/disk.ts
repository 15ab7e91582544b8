import { lstat, readdir, readlink, realpath } from 'node:fs/promises'
import { errorCode } from '@bulkhead/kit/error-message'
import { isMissing } from './file-errors.ts'
import type { PathModel } from './paths.ts'

export interface FileInfo {
  readonly kind: 'file' | 'folder' | 'link' | 'other'
  readonly device: number
  readonly node: number
}

/** File system access for resolving paths. It opens no files. */
export interface Disk {
  /** lstat; undefined if nothing exists there. */
  look(path: string): Promise<FileInfo | undefined>
  /** readlink; undefined if it is not a link. */
  target(path: string): Promise<string | undefined>
  names(folder: string): Promise<readonly string[]>
  /** realpath. Rejects if nothing exists there. */
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
        if (isMissing(error) || errorCode(error) === 'EINVAL') return undefined
        throw error
      }
    },
    names: (folder) => readdir(paths.write(folder)),
    async real(path) {
      const read = paths.read(await realpath(paths.write(path)), '/')
      if ('refused' in read) throw new Error('The system returned an invalid path.')
      return read.path
    },
  }
}
