import { lstatSync, opendirSync, readdirSync, type Dirent } from 'node:fs'
import { messageOf } from '@bulkhead/kit/error-message'
import { byteOrder } from '../byte-order.ts'
import { stampOf, type Stamp } from './stamp.ts'

export interface FolderEntry {
  readonly name: string
  readonly kind: 'file' | 'folder' | 'link' | 'special'
}

export type FolderListing =
  | { readonly ok: true; readonly entries: readonly FolderEntry[]; readonly stamp: Stamp }
  | { readonly ok: false; readonly problem: 'missing' | 'too-many' | 'unreadable'; readonly message: string }

/** Lists a folder in byte order, and stops at a folder that has more entries than may be. Contract: never throws. */
export function listFolder(path: string, maxEntries: number): FolderListing {
  const entries: FolderEntry[] = []
  let stamp: Stamp
  try {
    // Before the listing: whatever is added during it then shows in another stamp.
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

/** A folder of this size has a few thousand entries at most, which are quicker listed all at once. */
const SMALL_FOLDER_BYTES = 64 * 1024

function entriesOf(path: string, [size]: Stamp): Iterable<Dirent> {
  // Where folders have no size, nobody knows how many entries there are.
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
