import { dirname, isAbsolute, relative, sep } from 'node:path'

/** Both are real paths. A folder is inside itself. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return !isAbsolute(way) && way !== '..' && !way.startsWith(`..${sep}`)
}

/** A folder and those around it, up to the root. */
export function* foldersUp(from: string, root: string): Generator<string> {
  for (let folder = from; isInside(folder, root); folder = dirname(folder)) {
    yield folder
    if (folder === root) return
  }
}
