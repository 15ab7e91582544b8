import { join } from 'node:path'
import { MANIFEST_FILE } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { sha512 } from '../model/digest.ts'
import type { LoaderLimits } from '../model/limits.ts'
import { pass, refuse, type Fault, type StageResult } from '../model/result.ts'
import type { Yielder } from '../model/yielder.ts'
import { INTEGRITY_FILE, SIGNATURE_FILE } from './integrity.ts'
import { findNameFault, findPathFault, foldName, listFolder } from './list-folder.ts'
import { FileHasher, readRegularFile, type Stamp } from './read-file.ts'

/** The files of a package by path, with `/` between segments. */
export interface PackageContents {
  readonly digests: ReadonlyMap<string, string>
  /** The hashed bytes of the requested files. */
  readonly bytes: ReadonlyMap<string, Uint8Array>
}

export const contentsOf = (bytes: ReadonlyMap<string, Uint8Array>): PackageContents =>
  ({ bytes, digests: new Map([...bytes].map(([path, content]) => [path, sha512(content)])) })

/** The contents of a folder, with the stamps from the time of reading. */
export interface FolderContents extends PackageContents {
  /** Stamps of folders are taken before they are listed. The path of the package folder is ''. */
  readonly fileStamps: ReadonlyMap<string, Stamp>
  readonly folderStamps: ReadonlyMap<string, Stamp>
}

const hasher = new FileHasher()

/**
 * Reads and hashes all files below a folder. Links, special files, names that collide or are not portable, and anything beyond the
 * limits refuse the package. `skip` is for packing, where some files do not become part of the package.
 */
export async function readPackage(
  folder: string, limits: LoaderLimits, yielder: Yielder, keep: (path: string) => boolean, skip: (path: string) => boolean = () => false,
): Promise<StageResult<FolderContents>> {
  const digests = new Map<string, string>()
  const bytes = new Map<string, Uint8Array>()
  const fileStamps = new Map<string, Stamp>()
  const folderStamps = new Map<string, Stamp>()
  const namesByFold = new Map<string, string>()
  let entriesLeft = limits.files
  let bytesLeft = limits.packageBytes

  const folders = ['']
  for (let parent = folders.pop(); parent !== undefined; parent = folders.pop()) {
    const listing = listFolder(join(folder, parent), entriesLeft)
    if (listing.ok) folderStamps.set(parent, listing.stamp)
    if (!listing.ok && listing.problem === 'too-many') return unsafe('', `has more than ${limits.files} files and folders`)
    if (!listing.ok) return unsafe(parent, listing.message)
    entriesLeft -= listing.entries.length

    for (const { name, kind } of listing.entries) {
      const path = parent === '' ? name : `${parent}/${name}`
      if (skip(path)) continue
      const folded = foldName(path)
      const twin = namesByFold.get(folded)
      namesByFold.set(folded, path)
      const nameFault = findNameFault(name) ?? findPathFault(path)
      if (nameFault !== undefined) return unsafe(path, nameFault)
      if (twin !== undefined) return unsafe(path, `collides with "${visibleText(twin)}" on file systems that ignore case`)
      if (kind === 'link') return unsafe(path, 'is a link')
      if (kind === 'special') return unsafe(path, 'is not a regular file')
      if (kind === 'folder') {
        if (path.split('/').length > limits.folderDepth) return unsafe(path, `is more than ${limits.folderDepth} folders deep`)
        folders.push(path)
        continue
      }
      const options = { maxBytes: boundOf(path, limits) }
      const file = keep(path) ? readRegularFile(join(folder, path), options) : hasher.digest(join(folder, path), options)
      if (!file.ok) return unsafe(path, file.message)
      bytesLeft -= 'bytes' in file ? file.bytes.length : file.size
      if (bytesLeft < 0) return unsafe('', `has more than ${limits.packageBytes} bytes`)
      digests.set(path, 'bytes' in file ? sha512(file.bytes) : file.digest)
      fileStamps.set(path, file.stamp)
      if ('bytes' in file) bytes.set(path, file.bytes)
      const turn = yielder.yieldIfDue()
      if (turn !== undefined) await turn
    }
  }
  return pass({ digests, bytes, fileStamps, folderStamps })
}

/** The size limit of a file. It is lower for files that are parsed. */
export function boundOf(path: string, limits: LoaderLimits): number {
  if (path === MANIFEST_FILE) return limits.manifestBytes
  if (path === INTEGRITY_FILE) return limits.integrityBytes
  return path === SIGNATURE_FILE ? limits.signatureBytes : limits.fileBytes
}

const unsafe = (file: string, what: string): StageResult<never> => refuse(unsafeFile(file, what))

/** A fault of a file, or of the folder if `file` is empty. */
export function unsafeFile(file: string, what: string): Fault {
  const name = file === '' ? 'The folder of the extension' : `The file "${visibleText(file)}" of the package`
  return { stage: 'read', code: 'PackageUnsafe', path: '', message: `${name} ${what}.`, ...(file !== '' && { file }) }
}
