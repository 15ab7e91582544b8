/** What is asked of a file system; `node:fs` and `node:path` have it. */
export interface FolderDisk {
  mkdirSync(path: string, options: { readonly mode: number }): unknown
  statSync(path: string, options: { readonly throwIfNoEntry: false }): { isDirectory(): boolean } | undefined
  dirname(path: string): string
}

/**
 * Makes a folder and those it lies in, where they are missing. Not by `recursive` of Node: that asks again for ever where a system
 * says of a new folder that it is not there, as /proc does. Throws what the system says.
 */
export function makeFolder(path: string, disk: FolderDisk, mode = 0o777): void {
  const refused = makeOne(path, disk, mode)
  if (refused === undefined) return
  const above = disk.dirname(path)
  const lacksParent = (refused.error as { readonly code?: unknown }).code === 'ENOENT' && above !== path && !isFolder(above, disk)
  if (!lacksParent) throw refused.error
  makeFolder(above, disk, mode)
  const again = makeOne(path, disk, mode)
  if (again) throw again.error
}

/** A folder that is there is as good as one that was made: another process may have been quicker. */
function makeOne(path: string, disk: FolderDisk, mode: number): { readonly error: unknown } | undefined {
  try {
    disk.mkdirSync(path, { mode })
    return undefined
  } catch (error) {
    return isFolder(path, disk) ? undefined : { error }
  }
}

function isFolder(path: string, disk: FolderDisk): boolean {
  try {
    return disk.statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  } catch {
    return false
  }
}
