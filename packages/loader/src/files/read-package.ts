import { lstatSync, opendirSync, readdirSync, type Dirent } from 'node:fs'
import { join } from 'node:path'
import { MANIFEST_FILE } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import { byteOrder, sha512 } from '../model/digest.ts'
import type { LoaderLimits } from '../model/limits.ts'
import { pass, refuse, type Fault, type StageResult } from '../model/result.ts'
import type { Yielder } from '../model/yielder.ts'
import { INTEGRITY_FILE, SIGNATURE_FILE } from './integrity.ts'
import { FileHasher, readRegularFile, stampOf, type Stamp } from './read-file.ts'

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
 * Reads and hashes all files below a folder. Links, special files, names that collide or are not portable, and anything
 * beyond the limits refuse the package. `skip` is for packing, where some files do not become part of the package.
 */
export async function readPackage(
  folder: string, limits: LoaderLimits, yielder: Yielder, keep: (path: string) => boolean,
  skip: (path: string) => boolean = () => false,
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
    if (!listing.ok && listing.problem === 'too-many') {
      return unsafe('', `has more than ${limits.files} files and folders`)
    }
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
      if (twin !== undefined) {
        return unsafe(path, `collides with "${visibleText(twin)}" on file systems that ignore case`)
      }
      if (kind === 'link') return unsafe(path, 'is a link')
      if (kind === 'special') return unsafe(path, 'is not a regular file')
      if (kind === 'folder') {
        if (path.split('/').length > limits.folderDepth) {
          return unsafe(path, `is more than ${limits.folderDepth} folders deep`)
        }
        folders.push(path)
        continue
      }
      const options = { maxBytes: boundOf(path, limits) }
      const file = keep(path)
        ? readRegularFile(join(folder, path), options) : hasher.digest(join(folder, path), options)
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

export interface FolderEntry {
  readonly name: string
  readonly kind: 'file' | 'folder' | 'link' | 'special'
}

export type FolderListing =
  | { readonly ok: true; readonly entries: readonly FolderEntry[]; readonly stamp: Stamp }
  | { readonly ok: false; readonly problem: 'missing' | 'too-many' | 'unreadable'; readonly message: string }

/** Lists a folder in byte order. Refuses one with more than `maxEntries` entries. Contract: never throws. */
export function listFolder(path: string, maxEntries: number): FolderListing {
  const entries: FolderEntry[] = []
  let stamp: Stamp
  try {
    // Taken before the listing, so an entry that is added meanwhile changes the stamp.
    stamp = stampOf(lstatSync(path))
    for (const entry of entriesOf(path, stamp)) {
      if (entries.length === maxEntries) {
        return { ok: false, problem: 'too-many', message: `has more than ${maxEntries} entries` }
      }
      entries.push({ name: entry.name, kind: kindOf(entry) })
    }
  } catch (error) {
    return errorCode(error) === 'ENOENT'
      ? { ok: false, problem: 'missing', message: 'does not exist' }
      : { ok: false, problem: 'unreadable', message: `cannot be listed: ${messageOf(error)}` }
  }
  return { ok: true, stamp, entries: entries.toSorted((left, right) => byteOrder(left.name, right.name)) }
}

/** A folder of this size has a few thousand entries at most, which are faster to list at once. */
const SMALL_FOLDER_BYTES = 64 * 1024

function entriesOf(path: string, [size]: Stamp): Iterable<Dirent> {
  // Some file systems report no size for folders.
  return size > 0 && size <= SMALL_FOLDER_BYTES ? readdirSync(path, { withFileTypes: true }) : oneByOne(path)
}

function* oneByOne(path: string): Generator<Dirent> {
  using folder = opendirSync(path)
  for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) yield entry
}

function kindOf(entry: Dirent): FolderEntry['kind'] {
  if (entry.isSymbolicLink()) return 'link'
  if (entry.isDirectory()) return 'folder'
  return entry.isFile() ? 'file' : 'special'
}

/** The limit of most file systems. */
const NAME_BYTES = 255
const PATH_CHARS = 1_024

/**
 * Why a package may not contain a file or folder name, or undefined. A name must be unambiguous on all machines and
 * screens.
 */
export function findNameFault(name: string, platform = process.platform): string | undefined {
  // Node replaces invalid UTF-8, so the file could not be opened by this name.
  if (name.includes('\u{fffd}') || !name.isWellFormed()) return 'has a name that is not UTF-8'
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name)) return 'has a name with control or invisible characters'
  if (/[\\:]/.test(name)) return 'has a name with a backslash or a colon'
  if (Buffer.byteLength(name) > NAME_BYTES) return `has a name of more than ${NAME_BYTES} bytes`
  return platform === 'win32' ? findWindowsFault(name) : undefined
}

export const findPathFault = (path: string): string | undefined =>
  path.length > PATH_CHARS ? `has a path of more than ${PATH_CHARS} characters` : undefined

/** With or without an extension, and with spaces before it. Windows treats superscript digits as digits. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\.|$)/i

/**
 * Why Windows cannot store a file under this name, or undefined. Refused on Windows, and on all systems when a package
 * is packed: elsewhere an installed one does no harm, and only its publisher can rename the file.
 */
export function findWindowsFault(name: string): string | undefined {
  if (/[<>"|?*]/.test(name)) return 'has a name with one of < > " | ? *, which Windows does not allow'
  if (/[. ]$/.test(name)) return 'has a name that ends in a dot or a space, which Windows drops'
  return DEVICE.test(name) ? 'has a name that is a device on Windows' : undefined
}

/** Names with the same folded form are one file where the file system ignores case or normalizes Unicode. */
export const foldName = (path: string): string => isAscii(path)
  ? path.toLowerCase() : path.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')

const isAscii = (text: string): boolean => /^[\u0020-\u007e]*$/.test(text)
