import { join } from 'node:path'
import { MANIFEST_FILE } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { sha512 } from '../model/digest.ts'
import type { LoaderLimits } from '../model/limits.ts'
import { pass, refuse, type Fault, type StageResult } from '../model/result.ts'
import type { Yielder } from '../model/yielder.ts'
import { INTEGRITY_FILE, SIGNATURE_FILE } from './integrity.ts'
import { findNameFault, findPathFault, foldName, listFolder } from './list-folder.ts'
import { FileHasher, readRegularFile } from './read-file.ts'
import type { Stamp } from './stamp.ts'

/** Every file of a package by its path, `/` between segments. */
export interface PackageContents {
  readonly digests: ReadonlyMap<string, string>
  /** The bytes the digests were taken over, of the files that were asked for. */
  readonly bytes: ReadonlyMap<string, Uint8Array>
}

export const contentsOf = (bytes: ReadonlyMap<string, Uint8Array>): PackageContents =>
  ({ bytes, digests: new Map([...bytes].map(([path, content]) => [path, sha512(content)])) })

/** What was read from a folder, with what it looked like then. */
export interface FolderContents extends PackageContents {
  /** Of every file, and of every folder as it was before it was listed; the folder of the package itself is ''. */
  readonly fileStamps: ReadonlyMap<string, Stamp>
  readonly folderStamps: ReadonlyMap<string, Stamp>
}

const hasher = new FileHasher()

/**
 * Reads and hashes everything below a folder: nothing is skipped, so nothing can hide. Links, special files, names that
 * collide or cannot be carried, and whatever is beyond the limits refuse the whole package. Only whoever packs one skips
 * anything: it becomes no part of the package.
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
    if (!listing.ok && listing.problem === 'too-many') return unsafe('', `holds more than ${limits.files} files and folders`)
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
      if (twin !== undefined) return unsafe(path, `collides with "${visibleText(twin)}" where case is ignored`)
      if (kind === 'link') return unsafe(path, 'is a link')
      if (kind === 'special') return unsafe(path, 'is not a plain file')
      if (kind === 'folder') {
        if (path.split('/').length > limits.folderDepth) return unsafe(path, `lies more than ${limits.folderDepth} folders deep`)
        folders.push(path)
        continue
      }
      const options = { maxBytes: boundOf(path, limits) }
      const file = keep(path) ? readRegularFile(join(folder, path), options) : hasher.digest(join(folder, path), options)
      if (!file.ok) return unsafe(path, file.message)
      bytesLeft -= 'bytes' in file ? file.bytes.length : file.size
      if (bytesLeft < 0) return unsafe('', `holds more than ${limits.packageBytes} bytes`)
      digests.set(path, 'bytes' in file ? sha512(file.bytes) : file.digest)
      fileStamps.set(path, file.stamp)
      if ('bytes' in file) bytes.set(path, file.bytes)
      const turn = yielder.yieldIfDue()
      if (turn !== undefined) await turn
    }
  }
  return pass({ digests, bytes, fileStamps, folderStamps })
}

/** How large a file may be: those that are parsed are held to less. */
export function boundOf(path: string, limits: LoaderLimits): number {
  if (path === MANIFEST_FILE) return limits.manifestBytes
  if (path === INTEGRITY_FILE) return limits.integrityBytes
  return path === SIGNATURE_FILE ? limits.signatureBytes : limits.fileBytes
}

const unsafe = (file: string, what: string): StageResult<never> => refuse(unsafeFile(file, what))

/** What is wrong with a file of a package, or, where the name is empty, with its folder. */
export function unsafeFile(file: string, what: string): Fault {
  const name = file === '' ? 'The folder of the extension' : `The file "${visibleText(file)}" of the package`
  return { stage: 'read', code: 'PackageUnsafe', path: '', message: `${name} ${what}.`, ...(file !== '' && { file }) }
}
