import { lstatSync, mkdirSync, readdirSync, statSync, type Dirent } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errorCode } from './error-message.ts'

/**
 * Creates a folder and its missing parents. Does not use `recursive` of Node, which loops forever where creating a
 * folder fails with ENOENT although its parent exists, as in /proc. Throws the system's error.
 */
export function makeFolder(path: string, mode = 0o777): void {
  const refused = makeOne(path, mode)
  if (refused === undefined) return
  const above = dirname(path)
  const lacksParent = errorCode(refused.error) === 'ENOENT' && above !== path && !isFolder(above)
  if (!lacksParent) throw refused.error
  makeFolder(above, mode)
  const again = makeOne(path, mode)
  if (again) throw again.error
}

/** An existing folder counts as created: another process may have been faster. */
function makeOne(path: string, mode: number): { readonly error: unknown } | undefined {
  try {
    mkdirSync(path, { mode })
    return undefined
  } catch (error) {
    return isFolder(path) ? undefined : { error }
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  } catch {
    return false
  }
}

/**
 * Whether nothing has this name. A link that leads nowhere has one, and below it nothing is known to be absent: a file
 * with restrictions may belong there. Contract: never throws.
 */
export function isAbsent(path: string): boolean {
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return false
  } catch {
    return false
  }
  const above = dirname(path)
  return above === path || isFolder(above) || isAbsent(above)
}

/** The names in a folder; none if it cannot be read. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** The entries of a folder; none if it cannot be read. */
export function entriesIn(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

/** A folder that changed within this time may change again without another time stamp. */
const RECENT_MS = 1_000

/**
 * Scans a folder with the first call, and again when an entry of it was added, removed or renamed. undefined if there is
 * no such folder.
 */
export function scanningOnce<Found>(scan: (folder: string) => Found): (folder: string) => Found | undefined {
  const known = new Map<string, { readonly changed: bigint; readonly found: Found }>()
  return (folder) => {
    const changed = changeOf(folder)
    if (changed === undefined) return undefined
    const before = known.get(folder)
    if (before?.changed === changed) return before.found
    const found = scan(folder)
    if (Date.now() - Number(changed / 1_000_000n) > RECENT_MS) known.set(folder, { changed, found })
    return found
  }
}

function changeOf(folder: string): bigint | undefined {
  try {
    const found = statSync(folder, { bigint: true, throwIfNoEntry: false })
    return found?.isDirectory() ? found.ctimeNs : undefined
  } catch {
    return undefined
  }
}

/** The paths that a protected place stands for now: itself, or every name that begins with it if it ends in `-`. */
export function pathsAt(place: string): readonly string[] {
  if (!place.endsWith('-')) return [place]
  const folder = dirname(place)
  return namesIn(folder).filter((name) => name.startsWith(basename(place))).map((name) => join(folder, name))
}

/** The folders between a folder and a path below it, the outermost first. */
export function foldersBetween(folder: string, path: string): readonly string[] {
  const above = dirname(path)
  return above.length <= folder.length ? [] : [...foldersBetween(folder, above), above]
}
