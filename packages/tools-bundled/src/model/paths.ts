import { ProtectedPlaces, protectionReason, type ReaderContext, ToolError } from '@bulkhead/contract'

/**
 * The approval key of a file: its folder as written, or `.` for the workspace. Resolves `..` where possible, so that
 * different spellings of a folder have the same key.
 */
export const folderKey = (path: string): string => writtenFolder(path, -1)

/** The approval key of a folder. */
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

/** Removes control characters. Different names keep different keys. */
const escaped = (name: string): string => name.replaceAll(/[%\p{Cc}\u2028\u2029]/gu, encodeURIComponent)

/** Throws InputInvalid for `~`, which a shell would expand to the home folder. Here it would be a folder named `~`. */
export function refuseHome(path = ''): void {
  if (!/^~(?:\/|$)/.test(path)) return
  const message = `"${path}" begins with "~", which is not expanded to the home folder. Use a path inside the `
    + 'workspace, or "./~" for a file named "~".'
  throw new ToolError('InputInvalid', message)
}

/** Cached by the list of folders, which does not change while a host is open. */
const protectedPlaces = new WeakMap<readonly string[], ProtectedPlaces>()
const NONE: readonly string[] = []

/** Why the broker would refuse to write a path. Empty if it would not. */
export function writeDenials(
  place: string, written: string, { workspace, neverWritten = NONE }: ReaderContext,
): readonly string[] {
  const known = protectedPlaces.get(neverWritten) ?? new ProtectedPlaces(neverWritten)
  protectedPlaces.set(neverWritten, known)
  const protection = known.find(place, workspace)
  return protection === undefined ? [] : [`"${written}" ${protectionReason(protection)}`]
}

/** What relative paths are resolved against. Nothing here accesses the file system. */
export interface Location {
  /** Absolute. */
  readonly workspace: string
  /** Relative to the workspace. `.` is the workspace itself. */
  readonly folder: string
}

/** Returns a path relative to the workspace, or undefined if it is outside. `.` is the workspace itself. */
export function insidePath(path: string, { workspace, folder }: Location): string | undefined {
  if (path === '' || path.includes('\0')) return undefined
  const root = normal(workspace.split('/'))
  const from = path.startsWith('/') ? [] : [...root, ...folder.split('/')]
  const full = normal([...from, ...path.split('/')])
  if (!root.every((name, index) => full[index] === name)) return undefined
  return full.slice(root.length).join('/') || '.'
}

function normal(names: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (const name of names) {
    if (name === '' || name === '.') continue
    if (name === '..') kept.pop()
    else kept.push(name)
  }
  return kept
}
