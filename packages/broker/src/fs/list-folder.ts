import type { Dirent } from 'node:fs'
import { lstat, opendir } from 'node:fs/promises'
import type { DirectoryEntry, FileStat } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { notRegular } from './file-errors.ts'
import type { FileScope } from './file-scope.ts'
import type { HeldFolder } from './folder-handle.ts'
import type { Place } from './path-policy.ts'

/** Names of one folder. */
export const MAX_ENTRIES = 10_000

/** What a folder holds, in the order of the names. Rejects with OutputTooLarge when that is more than `most`. */
export async function entriesOf(folder: HeldFolder, most = MAX_ENTRIES): Promise<DirectoryEntry[]> {
  const entries: DirectoryEntry[] = []
  for await (const entry of await opendir(folder.at('.'), { bufferSize: 256 })) {
    if (entries.length === most) throw new BulkheadError('OutputTooLarge', `The folder has more than ${most} entries.`)
    entries.push({ name: entry.name.toWellFormed(), kind: kindOf(entry) })
  }
  return entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

export const kindOf = (found: Pick<Dirent, 'isFile' | 'isDirectory'>): DirectoryEntry['kind'] =>
  found.isFile() ? 'file' : found.isDirectory() ? 'directory' : 'other'

export const listFolder = (scope: FileScope, place: Place): Promise<Json> =>
  scope.asFolder(place, async (folder) => await entriesOf(folder) as unknown as Json)

export function statFile(scope: FileScope, place: Place): Promise<Json> {
  return scope.inFolder(place, async (folder, name) => {
    const found = await lstat(folder.at(name))
    const kind = kindOf(found)
    if (kind === 'other') throw notRegular(place.given)
    return { kind, size: found.size, modifiedMs: found.mtimeMs } satisfies FileStat as JsonObject
  })
}
