import { randomUUID } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { access, lstat, open, readdir, rename, rmdir, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { reaper } from '../process/reaper.ts'
import { ABSENT, fileState, readState, type BeforeChange } from './change-record.ts'
import { isMissing, notRegular } from './file-errors.ts'
import type { FileScope } from './file-scope.ts'
import type { FolderHandle } from './disk.ts'
import type { ResolvedPath } from './path-policy.ts'
import { MAX_BYTES } from './read-file.ts'

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)
export const temporaryName = (): string => `.bulkhead-${randomUUID()}.tmp`
export const isTemporaryName = (name: string): boolean => /^\.bulkhead-[0-9a-f-]{36}\.tmp$/.test(name)

/** Where the text of a file is written instead of to the disk. undefined: it does not write this one. */
export interface TextTarget {
  write(
    scope: FileScope, resolved: ResolvedPath, bytes: Buffer, before: BeforeChange,
  ): Promise<JsonObject | undefined>
}

export function writeFile(
  scope: FileScope, resolved: ResolvedPath, bytes: Buffer, before: BeforeChange, client?: TextTarget,
): Promise<JsonObject> {
  return queueForFile(resolved.real, async () => await client?.write(scope, resolved, bytes, before)
    ?? await scope.inCreatedFolder(
      resolved, (folder, name) => replaceFile(folder, name, { path: resolved.given, before }, bytes), before,
    ))
}

/** Removes a file or an empty folder. */
export async function removeFile(
  scope: FileScope, resolved: ResolvedPath, before: BeforeChange,
): Promise<null> {
  const { given } = resolved
  if (resolved.linked) {
    throw new BulkheadError('InputInvalid', `"${given}" is a link. Remove its target by its own path.`)
  }
  await requireNoRoot(scope, resolved)
  return queueForFile(resolved.real, () => scope.inFolder(resolved, async (folder, name) => {
    await removeFrom(folder, name, { path: given, before })
    return null
  }))
}

export async function requireNoRoot(scope: FileScope, resolved: ResolvedPath): Promise<void> {
  if (!await scope.isRoot(resolved)) return
  throw new BulkheadError('CapabilityDenied', `"${resolved.given}" is a root of the grant and cannot be removed.`)
}

/** Contract: the caller holds the queue of the file. */
export async function removeFrom(folder: FolderHandle, name: string, { path, before }: ChangeParts): Promise<void> {
  const at = folder.at(name)
  const found = await lstat(at)
  if (!found.isFile() && !found.isDirectory()) throw notRegular(path)
  // A folder with content is not removed, so there is nothing to record.
  if (before.record !== undefined && (found.isFile() || (await readdir(at)).length === 0)) {
    const { state, content } = await readState(at, found)
    await before.record({ path: join(folder.where, name), before: state, after: ABSENT, content })
  }
  await before.begin?.()
  await (found.isFile() ? unlink : rmdir)(at)
}

export interface ChangeParts {
  /** For messages. */
  readonly path: string
  readonly before: BeforeChange
  /** The content of the existing file, if the caller has just read it. */
  readonly known?: Buffer | undefined
}

/**
 * Replaces a file atomically: readers never see half of it, a link of that name is not followed, and other hard links
 * keep the old content. Contract: the caller holds the queue of the file.
 */
export async function replaceFile(
  folder: FolderHandle, name: string, parts: ChangeParts, bytes: Buffer,
): Promise<JsonObject> {
  const { path } = parts
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
    return await putInPlace(folder, { ...parts, name, temporary, existing }, bytes)
  } finally {
    release()
  }
}

interface Replacement extends ChangeParts {
  readonly name: string
  readonly temporary: string
  readonly existing: Stats | undefined
}

async function putInPlace(
  folder: FolderHandle, { name, path, temporary, existing, before, known }: Replacement, bytes: Buffer,
): Promise<JsonObject> {
  await stageFile(folder, { path, temporary, rights: existing }, bytes)
  try {
    if (before.record !== undefined) {
      const { mode: made } = await lstat(temporary)
      const { state, content } = known !== undefined && existing !== undefined
        ? { state: fileState(known, existing.mode), content: known } : await readState(folder.at(name), existing)
      await before.record({ path: join(folder.where, name), before: state, after: fileState(bytes, made), content })
    }
    await before.begin?.()
    await rename(temporary, folder.at(name))
  } catch (error) {
    await unlink(temporary).catch(() => undefined)
    throw error
  }
  return { bytes: bytes.length, created: existing === undefined }
}

export interface StagedFile {
  /** For messages. */
  readonly path: string
  /** A path from `folder.at`. */
  readonly temporary: string
  /** The owner and mode it gets. Default: those of a new file. */
  readonly rights?: Pick<Stats, 'uid' | 'gid' | 'mode'> | undefined
  /** Replaces the mode of `rights`. */
  readonly mode?: number | undefined
  /** Sets or clears the permission to execute. Default: as in `rights`. */
  readonly executable?: boolean | undefined
}

/** Writes the new content beside the file. Contract: leaves nothing if it fails. */
export async function stageFile(
  folder: FolderHandle, { path, temporary, rights, mode, executable }: StagedFile, bytes: Buffer,
): Promise<void> {
  const handle = await open(temporary, CREATE, rights === undefined ? 0o666 : rights.mode & 0o777)
  try {
    if (!await folder.holds(handle, temporary)) throw replaced(path)
    if (rights !== undefined) await keepRights(handle, rights)
    if (mode !== undefined) await handle.chmod(mode)
    if (executable !== undefined) await setExecutable(handle, executable)
    await handle.writeFile(bytes)
    await handle.close()
  } catch (error) {
    await handle.close().catch(() => undefined)
    await unlink(temporary).catch(() => undefined)
    throw error
  }
}

/** Those who may read the file may execute it, or no one may. */
async function setExecutable(handle: FileHandle, executable: boolean): Promise<void> {
  const { mode } = await handle.stat()
  await handle.chmod((mode & 0o666) | (executable ? (mode & 0o444) >> 2 : 0))
}

/** Keeps owner and mode, as far as the system allows. */
async function keepRights(handle: FileHandle, { uid, gid, mode }: Pick<Stats, 'uid' | 'gid' | 'mode'>): Promise<void> {
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

/** Holds the queues of several files. They are entered in one order, so that two callers cannot wait for each other. */
export async function queueForFiles<T>(reals: readonly string[], work: () => Promise<T>): Promise<T> {
  const over = Promise.withResolvers<void>()
  try {
    for (const real of [...new Set(reals)].toSorted()) {
      await new Promise<void>((entered) => {
        void queueForFile(real, () => {
          entered()
          return over.promise
        })
      })
    }
    return await work()
  } finally {
    over.resolve()
  }
}
