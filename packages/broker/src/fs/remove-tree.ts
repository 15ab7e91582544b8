import { lstat, readdir, readlink, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { ABSENT, type BeforeChange } from './change-record.ts'
import type { FolderHandle } from './disk.ts'
import type { FileScope } from './file-scope.ts'
import { joinNames } from './paths.ts'
import { queueForFile, removeFrom, requireNoRoot } from './write-file.ts'

/** Each level holds a descriptor. */
const LEVELS = 256

const PROTECTED =
  'contains something that the tool may not write, so it was not removed completely. Remove the rest by name'
const REPLACED = 'was replaced while it was removed. Check the folder'

/**
 * Removes a file, a link, or a folder with everything in it. Links are removed themselves. Each folder is opened from
 * its parent, so that a folder that is replaced by a link meanwhile is not followed. Each name must be in the grant.
 */
export async function removeTree(
  scope: FileScope, given: string, before: BeforeChange, signal: AbortSignal,
): Promise<null> {
  const resolved = await scope.locateName(given)
  await requireNoRoot(scope, resolved)
  const granted = await scope.matcher()

  const remove = async (folder: FolderHandle, name: string, real: string, level: number): Promise<void> => {
    if (signal.aborted) throw BulkheadError.from(signal.reason, 'ToolCancelled')
    if (!granted(real).covers) throw scope.denied(given, PROTECTED)
    const found = await lstat(folder.at(name))
    if (found.isDirectory()) await empty(folder, name, real, level + 1)
    await queueForFile(real, () => found.isSymbolicLink()
      ? removeLink(folder, name, before) : removeFrom(folder, name, { path: given, before }))
  }

  const empty = async (parent: FolderHandle, own: string, real: string, level: number): Promise<void> => {
    if (level > LEVELS) throw tooDeep(given)
    const folder = await parent.child(own)
    try {
      // A folder that was moved meanwhile is not the one that was checked.
      if (!scope.isAt(folder.where, real)) throw scope.denied(given, REPLACED)
      for (const name of await readdir(folder.at('.'))) await remove(folder, name, joinNames(real, name), level)
    } finally {
      await folder.release()
    }
  }

  return scope.inFolder(resolved, async (folder, name) => {
    await remove(folder, name, resolved.real, 0)
    return null
  })
}

/** Contract: the caller holds the queue of the name. */
export async function removeLink(folder: FolderHandle, name: string, { record, begin }: BeforeChange): Promise<void> {
  const before = { kind: 'link', target: await readlink(folder.at(name)) } as const
  await record?.({ path: join(folder.where, name), before, after: ABSENT })
  await begin?.()
  await unlink(folder.at(name))
}

const tooDeep = (path: string): BulkheadError =>
  new BulkheadError('InputInvalid', `"${path}" has more than ${LEVELS} levels of folders. Remove the deepest first.`)
