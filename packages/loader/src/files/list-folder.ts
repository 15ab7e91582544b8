import { lstatSync, opendirSync, readdirSync, type Dirent } from 'node:fs'
import { messageOf } from '@bulkhead/kit/error-message'
import { byteOrder } from '../model/digest.ts'
import { stampOf, type Stamp } from './read-file.ts'

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
      if (entries.length === maxEntries) return { ok: false, problem: 'too-many', message: `has more than ${maxEntries} entries` }
      entries.push({ name: entry.name, kind: kindOf(entry) })
    }
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
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

/** Why a package may not contain a file or folder name, or undefined. A name must be unambiguous on all machines and screens. */
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
 * Why Windows cannot store a file under this name, or undefined. Refused on Windows, and on all systems when a package is packed:
 * elsewhere an installed one does no harm, and only its publisher can rename the file.
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
