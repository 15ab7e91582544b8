import { isMissing } from './file-errors.ts'
import { BulkheadError, type Power, type PreviewedWrite, type PreviewedWrites } from '@bulkhead/contract'
import { editedBytes } from './edit-file.ts'
import { scopeOf, type FileScope, type HostFolders } from './file-scope.ts'
import { lineDiff } from './line-diff.ts'
import { readFile } from './read-file.ts'

/** Files that are shown. The others are only counted. */
const MOST_FILES = 50
const DIFF_CHARS = 64 * 1024

/**
 * A unified diff of what a tool with this grant would write. The person who is asked sees the content of files that the
 * tool may write, also if it may not read them.
 */
export async function previewDiff(
  writes: PreviewedWrites, grant: Power, workspace: string, folders: HostFolders,
): Promise<string> {
  const scope = scopeOf(grant, 'fs.write', workspace, folders)
  const known = typeof writes === 'function'
    ? await writes({ read: async (path) => readFile(scope, await scope.locate(path), {}) }) : writes
  let diff = ''
  for (const [index, write] of known.entries()) {
    if (index === MOST_FILES || diff.length > DIFF_CHARS) {
      return `${diff}[The diffs of ${known.length - index} more files are not shown.]\n`
    }
    const before = await currentBytes(scope, write.path)
    diff += lineDiff(write.path, before, bytesAfter(write, before))
  }
  return diff
}

async function currentBytes(scope: FileScope, path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(scope, await scope.locate(path), {})
  } catch (error) {
    if (isMissing(error) || (BulkheadError.is(error) && error.code === 'NotFound')) return undefined
    throw error
  }
}

function bytesAfter(write: PreviewedWrite, before: Buffer | undefined): Buffer | undefined {
  if ('replace' in write) return editedBytes(before ?? Buffer.alloc(0), write.replace, write.path)
  const { content } = write
  return content === null ? undefined : Buffer.from(content as string)
}
