import {
  type ArgumentsReader, type ArgumentsReading, type CallEffects, type CallNeed, type CallSubject, type PreviewedWrites,
  ProtectedPlaces, protectionReason, type ReaderContext, ToolError,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'

/**
 * The approval key of a file or a folder: its path as written, or `.` for the workspace. Resolves `..` where possible,
 * so that different spellings have the same key.
 */
export const pathKey = (path = '.'): string => writtenPath(path, 0)

/** What rules and the allowlist name a file by: its folder. */
const folderKey = (path: string): string => writtenPath(path, -1)

function writtenPath(path: string, drop: 0 | -1): string {
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
  place: string, written: string, { neverWritten = NONE, ...context }: ReaderContext,
): readonly string[] {
  const known = protectedPlaces.get(neverWritten) ?? new ProtectedPlaces(neverWritten)
  protectedPlaces.set(neverWritten, known)
  const protection = known.find(place, rootOf(place, context))
  return protection === undefined ? [] : [`"${written}" ${protectionReason(protection)}`]
}

/** What relative paths are resolved against. Nothing here accesses the file system. */
export interface Location {
  /** Absolute. */
  readonly workspace: string
  /** Absolute, or relative to the workspace. `.` is the workspace itself. */
  readonly folder: string
  /** Absolute folders beside the workspace that also count as inside. */
  readonly roots?: readonly string[]
}

/**
 * Returns a path relative to the workspace, an absolute path in another root, or undefined if it is outside. `.` is the
 * workspace itself.
 */
export function insidePath(path: string, { workspace, folder, roots = NONE }: Location): string | undefined {
  if (path === '' || path.includes('\0')) return undefined
  const base = folder.startsWith('/') ? folder : `${workspace}/${folder}`
  const full = normal((path.startsWith('/') ? path : `${base}/${path}`).split('/'))
  const below = (root: string): readonly string[] | undefined => {
    const names = normal(root.split('/'))
    return names.every((name, index) => full[index] === name) ? full.slice(names.length) : undefined
  }
  const inside = below(workspace)
  if (inside !== undefined) return inside.join('/') || '.'
  return roots.some((root) => below(root) !== undefined) ? `/${full.join('/')}` : undefined
}

/** The workspace, or the other root that contains a path. */
const rootOf = (path: string, { workspace, roots = NONE }: Pick<ReaderContext, 'workspace' | 'roots'>): string =>
  [workspace, ...roots].find((root) => insidePath(path, { workspace: root, folder: '.' }) !== undefined) ?? workspace

/** The workspace or other root that contains an absolute path and is in no other one. `.` for every other path. */
export function outermostRoot(path: string, { workspace, roots = NONE }: ReaderContext): string {
  if (!path.startsWith('/')) return '.'
  const [outermost = '.'] = [workspace, ...roots]
    .filter((root) => insidePath(path, { workspace: root, folder: '.' }) !== undefined)
    .toSorted((one, other) => one.length - other.length)
  return outermost
}

/** An absolute path without `.` and `..`. */
export const normalPath = (path: string): string => `/${normal(path.split('/')).join('/')}`

function normal(names: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (const name of names) {
    if (name === '' || name === '.') continue
    if (name === '..') kept.pop()
    else kept.push(name)
  }
  return kept
}

export interface NamedPath {
  readonly path: string
  /** Shown before the path in approval prompts. */
  readonly verb: string
  /** Whether the call is about everything in it. */
  readonly isFolder: boolean
  readonly isWritten?: boolean
  /** Whether the tool only reads. */
  readonly reads?: boolean
  /** What the tool needs for the file, or for everything in the folder. */
  readonly needs: readonly ('fs.read' | 'fs.write')[]
}

/** The maximum length of a path on Linux. Listing all parents of a longer one could exhaust the memory of the host. */
const PATH_CHARS = 4_096

type NamePath = (args: Readonly<Record<string, Json>>) => NamedPath

/** Reads the arguments of a file tool. An approval of any folder above covers the call. */
export const pathReader = (name: NamePath): ArgumentsReader => (args, context) => readPath(name(args), context)

/** Adds what a call would write, for the diff that an approval shows. */
export const withPreview = (
  reader: ArgumentsReader, writesOf: (args: Readonly<Record<string, Json>>) => PreviewedWrites,
): ArgumentsReader => (args, context) => ({ ...reader(args, context), writes: writesOf(args) })

/** The same for a call with several files. */
export function readPaths(paths: readonly NamedPath[], context: ReaderContext): ArgumentsReading {
  const readings = paths.map((path) => readPath(path, context))
  const subjects = new Map(readings.flatMap(({ subjects: each }) => each).map((subject) =>
    [JSON.stringify([subject.key, subject.within?.length]), subject]))
  const effects = readings.map((reading) => reading.effects).filter((effect) => effect !== undefined)
  const known = effects.length === readings.length
  return {
    key: filesKey(readings.map(({ key }) => key)),
    subjects: [...subjects.values()],
    touches: readings.flatMap(({ touches }) => touches),
    asks: [],
    denies: [...new Set(readings.flatMap(({ denies }) => denies))],
    needs: readings.flatMap(({ needs = [] }) => needs),
    ...(known && { effects: {
      reads: effects.flatMap(({ reads = [] }) => reads), writes: effects.flatMap(({ writes = [] }) => writes),
      net: false,
    } }),
  }
}

/** The approval key of several files, given by their keys. No path contains `//`, so no file has such a key. */
export const filesKey = (keys: readonly string[]): string => [...new Set(keys)].toSorted().join(' // ')

function readPath(
  { path, verb, isFolder, isWritten = false, reads = false, needs }: NamedPath, context: ReaderContext,
): ArgumentsReading {
  const { workspace } = context
  const inside = insidePath(path, { ...context, folder: '.' })
  // Absolute and relative paths of the same folder have the same key. In another root the key is absolute.
  const written = path.startsWith('/') && inside !== undefined ? inside : path
  const key = pathKey(written)
  const place = inside === undefined ? path : absolute(workspace, inside)
  const named: CallSubject = {
    key, place: { kind: isFolder ? 'folder' : 'file', path: place }, ...(!isFolder && { plain: folderKey(written) }),
  }
  const below = isFolder ? { below: true } as const : {}
  const needsOf = (subject: string) => needs.map((kind): CallNeed => ({ kind, subject, ...below }))
  if (!isPlain(path) || path.length > PATH_CHARS) {
    const denies = isWritten && inside !== undefined ? writeDenials(place, path, context) : []
    return {
      key, subjects: [{ ...named, within: [] }], touches: [`${verb} ${path}`], asks: [], denies,
      // The broker resolves `..` before links, too.
      ...(path.length <= PATH_CHARS && { needs: needsOf(normalPath(absolute(workspace, path))) }),
    }
  }
  const above = isFolder ? foldersAbove(key) : foldersAbove(key).map(asFolder)
  const found: ArgumentsReading = {
    key, subjects: [{ ...named, within: above }], touches: [`${verb} ${place}`], asks: [],
    denies: isWritten ? writeDenials(place, path, context) : [],
    needs: needsOf(absolute(workspace, place)),
  }
  if (inside === undefined) return found
  const affected = [{ path: place, below: isFolder }]
  const effects: CallEffects = { reads: affected, writes: isWritten ? affected : [], net: false }
  return { ...found, effects, ...(reads && { onlyReads: true }) }
}

export const simpleReading = (
  key: string, within: readonly string[], touch: string, denies: readonly string[] = [],
): ArgumentsReading => ({ key, subjects: [{ key, within }], touches: [touch], asks: [], denies })

/** The key of a folder above a file differs from that of a file with the same name. */
const asFolder = (key: string): string => key === '/' ? key : `${key}/`

/** The absolute path of a result of `insidePath`. */
export function absolute(workspace: string, inside: string): string {
  if (inside.startsWith('/')) return inside
  return inside === '.' ? workspace : `${workspace.replace(/\/$/, '')}/${inside}`
}

/** After a link, `..` leads to an unknown folder. Approvals of parent folders do not cover such paths. */
const isPlain = (path: string): boolean => !path.split('/').includes('..')

/** Nearest first. The last is `.` inside the workspace, otherwise `/`. */
export function foldersAbove(key: string): readonly string[] {
  if (key === '.' || key === '/') return []
  const above: string[] = []
  for (let slash = key.lastIndexOf('/'); slash > 0; slash = key.lastIndexOf('/', slash - 1)) {
    above.push(key.slice(0, slash))
  }
  return [...above, key.startsWith('/') ? '/' : '.']
}

export const stringOr = (value: Json | undefined, otherwise = ''): string =>
  typeof value === 'string' ? value : otherwise
