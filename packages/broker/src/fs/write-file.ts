import { randomUUID } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { access, lstat, open, rename, rmdir, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { reaper } from '../process/reaper.ts'
import { isMissing, notRegular } from './file-errors.ts'
import type { FileScope } from './file-scope.ts'
import type { FolderHandle } from './disk.ts'
import type { ResolvedPath } from './path-policy.ts'
import { MAX_BYTES } from './read-file.ts'

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)
const temporaryName = (): string => `.bulkhead-${randomUUID()}.tmp`
export const isTemporaryName = (name: string): boolean => /^\.bulkhead-[0-9a-f-]{36}\.tmp$/.test(name)

/** Where the text of a file is written instead of to the disk. undefined: it does not write this one. */
export interface TextTarget {
  write(scope: FileScope, resolved: ResolvedPath, bytes: Buffer): Promise<JsonObject | undefined>
}

export function writeFile(
  scope: FileScope, resolved: ResolvedPath, bytes: Buffer, client?: TextTarget,
): Promise<JsonObject> {
  return queueForFile(resolved.real, async () => await client?.write(scope, resolved, bytes)
    ?? await scope.inCreatedFolder(resolved, (folder, name) => replaceFile(folder, name, resolved.given, bytes)))
}

/** Removes a file or an empty folder. */
export async function removeFile(scope: FileScope, resolved: ResolvedPath): Promise<null> {
  const { given } = resolved
  if (resolved.linked) {
    throw new BulkheadError('InputInvalid', `"${given}" is a link. Remove its target by its own path.`)
  }
  if (await scope.isRoot(resolved)) {
    throw new BulkheadError('CapabilityDenied', `"${given}" is a root of the grant and cannot be removed.`)
  }
  return scope.inFolder(resolved, async (folder, name) => {
    const found = await lstat(folder.at(name))
    if (!found.isFile() && !found.isDirectory()) throw notRegular(given)
    await (found.isFile() ? unlink : rmdir)(folder.at(name))
    return null
  })
}

/**
 * Replaces a file atomically: readers never see half of it, a link of that name is not followed, and other hard links
 * keep the old content.
 */
export async function replaceFile(
  folder: FolderHandle, name: string, path: string, bytes: Buffer,
): Promise<JsonObject> {
  if (bytes.length > MAX_BYTES) throw tooLong(path, bytes.length)
  const existing = await lstat(folder.at(name)).catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  if (existing !== undefined && !existing.isFile()) throw notRegular(path)
  // rename() needs rights to the folder only, so check that the file itself is writable.
  if (existing !== undefined) await access(folder.at(name), constants.W_OK)
  const unfinished = temporaryName()
  const temporary = folder.at(unfinished)
  const release = reaper.hold('file', join(folder.where, unfinished))
  try {
    return await putInPlace(folder, { name, path, temporary, existing }, bytes)
  } finally {
    release()
  }
}

interface Replacement {
  readonly name: string
  /** For messages. */
  readonly path: string
  readonly temporary: string
  readonly existing: Stats | undefined
}

async function putInPlace(
  folder: FolderHandle, { name, path, temporary, existing }: Replacement, bytes: Buffer,
): Promise<JsonObject> {
  const handle = await open(temporary, CREATE, existing === undefined ? 0o666 : existing.mode & 0o777)
  try {
    if (!await folder.holds(handle, temporary)) throw replaced(path)
    if (existing !== undefined) await keepRights(handle, existing)
    await handle.writeFile(bytes)
    await handle.close()
    await rename(temporary, folder.at(name))
  } catch (error) {
    await handle.close().catch(() => undefined)
    await unlink(temporary).catch(() => undefined)
    throw error
  }
  return { bytes: bytes.length, created: existing === undefined }
}

/** Keeps owner and mode, as far as the system allows. */
async function keepRights(handle: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const made = await handle.stat()
  const ignore = (): void => undefined
  if (made.uid !== uid || made.gid !== gid) await handle.chown(uid, gid).catch(ignore)
  if (made.mode !== mode) await handle.chmod(mode & 0o777).catch(ignore)
}

const replaced = (path: string): BulkheadError =>
  new BulkheadError(
    'CapabilityDenied',
    `The folder of "${path}" was replaced during the write. Check the folder, then write again.`,
  )

export const tooLong = (path: string, bytes: number): BulkheadError =>
  new BulkheadError('InputInvalid', `"${path}" would have ${bytes} bytes; at most ${MAX_BYTES} can be written at once.`)

/** The last pending change of each file in this process. */
const pending = new Map<string, Promise<unknown>>()

/** Serializes changes to one file, so that no read-modify-write loses another change. */
export async function queueForFile<T>(real: string, work: () => Promise<T>): Promise<T> {
  const previous = pending.get(real)
  const mine = previous === undefined ? work() : previous.then(work, work)
  pending.set(real, mine)
  try {
    return await mine
  } finally {
    if (pending.get(real) === mine) pending.delete(real)
  }
}
