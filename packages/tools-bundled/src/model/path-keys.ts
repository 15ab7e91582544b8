import { ProtectedPlaces, protectionReason, type ReaderContext, ToolError } from '@bulkhead/contract'

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

/** Throws InputInvalid for a path that a shell would read as the home folder: here it would be a folder that is called `~`. */
export function refuseHome(path = ''): void {
  if (!/^~(?:\/|$)/.test(path)) return
  const message = `"${path}" begins with "~", which stands for no home folder here. Name a path inside the workspace; what is really called "~" is "./~".`
  throw new ToolError('InputInvalid', message)
}

/** By the folders they were made for, which stay the same for as long as a host is open. */
const places = new WeakMap<readonly string[], ProtectedPlaces>()
const NONE: readonly string[] = []

/** Why the broker would not write a place for a tool whose patterns name nothing in the workspace. Empty where it would. */
export function whyNotWritten(place: string, written: string, { workspace, neverWritten = NONE }: ReaderContext): readonly string[] {
  const known = places.get(neverWritten) ?? new ProtectedPlaces(neverWritten)
  places.set(neverWritten, known)
  const protection = known.find(place, workspace)
  return protection === undefined ? [] : [`"${written}" ${protectionReason(protection)}`]
}

/** Where a path is read: paths are only compared here, never looked at. */
export interface Location {
  /** Absolute. */
  readonly workspace: string
  /** The folder it starts in, relative to the workspace; `.` for the workspace itself. */
  readonly folder: string
}

/** A path relative to the workspace, `.` for the workspace itself; undefined when it leads out of it. */
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
