import { randomUUID } from 'node:crypto'
import type { Stats } from 'node:fs'
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { access, lstat, open, rename, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { reaper } from '../process/reaper.ts'
import { isMissing, notRegular } from './file-errors.ts'
import type { FileScope } from './file-scope.ts'
import { inTurn } from './file-turns.ts'
import type { HeldFolder } from './folder-handle.ts'
import type { Place } from './path-policy.ts'
import { MAX_BYTES } from './read-file.ts'

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)
const temporaryName = (): string => `.bulkhead-${randomUUID()}.tmp`
/** What a file is called while it is being written. */
export const isTemporaryName = (name: string): boolean => /^\.bulkhead-[0-9a-f-]{36}\.tmp$/.test(name)

export function writeFile(scope: FileScope, place: Place, bytes: Buffer): Promise<JsonObject> {
  return inTurn(place.real, () => scope.inMadeFolder(place, (folder, name) => replaceFile(folder, name, place.given, bytes)))
}

/** A file, or a folder with nothing in it: what would be lost with more is not seen from here. */
export async function removeFile(scope: FileScope, place: Place): Promise<null> {
  const { given } = place
  if (place.linked) {
    throw new BulkheadError('InputInvalid', `"${given}" is a link. Remove what it leads to by its own name.`)
  }
  if (await scope.isRoot(place)) {
    throw new BulkheadError('CapabilityDenied', `"${given}" is what the tool was given, and is not its to remove.`)
  }
  return scope.inFolder(place, async (folder, name) => {
    const found = await lstat(folder.at(name))
    if (!found.isFile() && !found.isDirectory()) throw notRegular(given)
    await (found.isFile() ? unlink : rmdir)(folder.at(name))
    return null
  })
}

/**
 * The new content lands under its name in one step: nobody sees half of it, no link of that name is followed, and other
 * names of the same file keep what they had.
 */
export async function replaceFile(folder: HeldFolder, name: string, path: string, bytes: Buffer): Promise<JsonObject> {
  if (bytes.length > MAX_BYTES) throw tooLong(path, bytes.length)
  const existing = await lstat(folder.at(name)).catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  if (existing !== undefined && !existing.isFile()) throw notRegular(path)
  // To put another in its place takes the right to its folder alone; that it may not be written was said by its owner.
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

async function putInPlace(folder: HeldFolder, { name, path, temporary, existing }: Replacement, bytes: Buffer): Promise<JsonObject> {
  const handle = await open(temporary, CREATE, existing === undefined ? 0o666 : existing.mode & 0o777)
  try {
    if (!await folder.holds(handle, temporary)) throw exchanged(path)
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

/** Who may use a file goes on doing so, as far as the system lets: a new one has what the host gives to new ones. */
async function keepRights(handle: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const made = await handle.stat()
  const ignore = (): void => undefined
  if (made.uid !== uid || made.gid !== gid) await handle.chown(uid, gid).catch(ignore)
  if (made.mode !== mode) await handle.chmod(mode & 0o777).catch(ignore)
}

const exchanged = (path: string): BulkheadError =>
  new BulkheadError('CapabilityDenied', `The folder of "${path}" was exchanged for another while it was written to. Look at what is there, and write it again.`)

export const tooLong = (path: string, bytes: number): BulkheadError =>
  new BulkheadError('InputInvalid', `"${path}" would get ${bytes} bytes; at most ${MAX_BYTES} are written at once.`)
