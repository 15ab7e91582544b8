/**
 * The approval key of a path: the folder it lies in, as it is written, `.` for the workspace itself. `..` is resolved as far
 * as there is something to resolve it by, so that two spellings of one folder have one key.
 */
export const folderKey = (path: string): string => writtenFolder(path, -1)

/** The key of a folder itself. */
export const ownFolderKey = (path = '.'): string => writtenFolder(path, 0)

function writtenFolder(path: string, drop: 0 | -1): string {
  const names: string[] = []
  const isAbsolute = path.startsWith('/')
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  for (const part of drop === 0 ? parts : parts.slice(0, drop)) {
    if (part !== '..') names.push(escaped(part))
    else if (names.length > 0 && names.at(-1) !== '..') names.pop()
    else if (!isAbsolute) names.push(part)
  }
  return (isAbsolute ? '/' : '') + names.join('/') || '.'
}

/** Keys have no control characters, and two names never have one key. */
const escaped = (name: string): string => name.replaceAll(/[%\p{Cc}\u2028\u2029]/gu, encodeURIComponent)
