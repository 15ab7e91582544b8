import type { Dirent } from 'node:fs'
import { lstat, opendir, type FileHandle } from 'node:fs/promises'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { BulkheadError, type DirectoryEntry, type FileStat } from '@bulkhead/contract'
import { notRegular } from './file-errors.ts'
import type { FileScope } from './file-scope.ts'
import { joinNames } from './paths.ts'
import type { ResolvedPath } from './path-policy.ts'
import type { ByteRange } from './sync-read.ts'
import { READ, type FolderHandle } from './disk.ts'

/** Largest read or write. A larger file is read in ranges. */
export const MAX_BYTES = 8 * 1024 * 1024

export function readRange(given: Json | undefined): ByteRange {
  if (given === undefined || given === null) return {}
  if (!isJsonObject(given)) throw new BulkheadError('InputInvalid', 'The range must be an object with start and end.')
  requireBound(given, 'start')
  requireBound(given, 'end')
  return given as ByteRange
}

function requireBound(range: JsonObject, key: keyof ByteRange): void {
  const value = range[key]
  if (value === undefined || (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0)) return
  throw new BulkheadError('InputInvalid', `The ${key} of a range must be a whole number of bytes.`)
}

/** Reads a regular file, or a range of it. */
export function readFile(scope: FileScope, resolved: ResolvedPath, range: ByteRange): Promise<Buffer> {
  return scope.withFile(resolved, READ, (handle) => readBytes(handle, resolved.given, range))
}

async function readBytes(handle: FileHandle, path: string, { start = 0, end }: ByteRange): Promise<Buffer> {
  const found = await handle.stat()
  if (!found.isFile()) throw notRegular(path)
  const length = Math.max(0, Math.min(end ?? found.size, found.size) - start)
  if (length > MAX_BYTES) {
    throw new BulkheadError(
      'InputInvalid',
      `"${path}" has ${found.size} bytes; at most ${MAX_BYTES} can be read at once. Read it in ranges.`,
      { data: { size: found.size } },
    )
  }
  const bytes = Buffer.alloc(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, start + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}

/** Entries of one folder. */
const MAX_ENTRIES = 10_000

/** The entries of a folder, sorted by name. Rejects with OutputTooLarge if there are more than `most`. */
export async function entriesOf(folder: FolderHandle, most = MAX_ENTRIES): Promise<DirectoryEntry[]> {
  const entries: DirectoryEntry[] = []
  for await (const entry of await opendir(folder.at('.'), { bufferSize: 256 })) {
    if (entries.length === most) throw new BulkheadError('OutputTooLarge', `The folder has more than ${most} entries.`)
    entries.push({ name: entry.name.toWellFormed(), kind: kindOf(entry) })
  }
  return entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

export const kindOf = (found: Pick<Dirent, 'isFile' | 'isDirectory'>): DirectoryEntry['kind'] =>
  found.isFile() ? 'file' : found.isDirectory() ? 'directory' : 'other'

/** What rules deny or ask about is left out. `isCounted`: the answer says how many that are. */
export async function listFolder(scope: FileScope, resolved: ResolvedPath, isCounted = false): Promise<Json> {
  const match = await scope.matcher()
  return scope.asFolder(resolved, async (folder) => {
    const all = await entriesOf(folder)
    const found = all.filter(({ name }) => match(joinNames(resolved.real, name)).isLeftOut !== true)
    return (isCounted ? { found, leftOut: all.length - found.length } : found) as unknown as Json
  })
}

export function statFile(scope: FileScope, resolved: ResolvedPath): Promise<Json> {
  return scope.inFolder(resolved, async (folder, name) => {
    const found = await lstat(folder.at(name))
    const kind = kindOf(found)
    if (kind === 'other') throw notRegular(resolved.given)
    return { kind, size: found.size, modifiedMs: found.mtimeMs } satisfies FileStat as JsonObject
  })
}
