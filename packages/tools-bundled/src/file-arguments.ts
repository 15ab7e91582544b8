import type { ArgumentsReader, ArgumentsReading, CallEffects, CallNeed } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { splitPattern } from './glob/glob.ts'
import { folderKey, insidePath, ownFolderKey, writeDenials } from './model/paths.ts'

interface NamedPath {
  readonly path: string
  /** Shown before the path in approval prompts. */
  readonly verb: string
  /** Whether the approval key is the path itself instead of its folder. */
  readonly isFolder: boolean
  readonly isWritten?: boolean
  /** Whether the tool only reads. */
  readonly reads?: boolean
  /** What the tool needs for the file, or for everything in the folder. */
  readonly needs: readonly ('fs.read' | 'fs.write')[]
}

/** The maximum length of a path on Linux. Listing all parents of a longer one could exhaust the memory of the host. */
const PATH_CHARS = 4_096

/** Reads the arguments of a file tool. An approval of any parent folder covers the call. */
const reader = (name: (args: Readonly<Record<string, Json>>) => NamedPath): ArgumentsReader => (args, context) => {
  const { workspace } = context
  const { path, verb, isFolder, isWritten = false, reads = false, needs } = name(args)
  const inside = insidePath(path, { workspace, folder: '.' })
  // Absolute and relative paths of the same folder have the same key.
  const written = path.startsWith('/') && inside !== undefined ? inside : path
  const key = isFolder ? ownFolderKey(written) : folderKey(written)
  if (!isPlain(path) || path.length > PATH_CHARS) {
    return reading(
      key, [], `${verb} ${path}`,
      isWritten && inside !== undefined ? writeDenials(full(workspace, inside), path, context) : [],
    )
  }
  const place = inside === undefined ? path : full(workspace, inside)
  const found = {
    ...reading(key, foldersAbove(key), `${verb} ${place}`, isWritten ? writeDenials(place, path, context) : []),
    needs: needs.map((kind): CallNeed => ({ kind, subject: full(workspace, place), ...(isFolder && { below: true }) })),
  }
  if (inside === undefined) return found
  const affected = [{ path: place, below: isFolder }]
  const effects: CallEffects = { reads: affected, writes: isWritten ? affected : [], net: false }
  return { ...found, effects, ...(reads && { onlyReads: true }) }
}

const reading = (
  key: string, within: readonly string[], touch: string, denies: readonly string[] = [],
): ArgumentsReading => ({ key, subjects: [{ key, within }], touches: [touch], asks: [], denies })

function full(workspace: string, inside: string): string {
  if (inside.startsWith('/')) return inside
  return inside === '.' ? workspace : `${workspace.replace(/\/$/, '')}/${inside}`
}

/** After a link, `..` leads to an unknown folder. Approvals of parent folders do not cover such paths. */
const isPlain = (path: string): boolean => !path.split('/').includes('..')

/** Nearest first. The last is `.` inside the workspace, otherwise `/`. */
function foldersAbove(key: string): readonly string[] {
  if (key === '.' || key === '/') return []
  const above: string[] = []
  for (let slash = key.lastIndexOf('/'); slash > 0; slash = key.lastIndexOf('/', slash - 1)) {
    above.push(key.slice(0, slash))
  }
  return [...above, key.startsWith('/') ? '/' : '.']
}

const text = (value: Json | undefined, otherwise = ''): string => typeof value === 'string' ? value : otherwise

export const readReadArguments = reader(({ path }) => ({
  path: text(path), verb: 'read', isFolder: false, reads: true, needs: ['fs.read'],
}))
export const readWriteArguments = reader(({ path }) => ({
  path: text(path), verb: 'write', isFolder: false, isWritten: true, needs: ['fs.write'],
}))
export const readEditArguments = reader(({ path }) => ({
  path: text(path), verb: 'read and write', isFolder: false, isWritten: true, needs: ['fs.read', 'fs.write'],
}))
export const readGrepArguments = reader(({ path }) => ({
  path: text(path, '.'), verb: 'read all below', isFolder: true, reads: true, needs: ['fs.read'],
}))
export const readGlobArguments = reader(({ pattern, path }) => ({
  path: splitPattern(text(pattern), text(path, '.')).path,
  verb: 'read the names below', isFolder: true, reads: true, needs: ['fs.read'],
}))

/** The approval key of a page is its host. */
export const readFetchArguments: ArgumentsReader = ({ url }) => {
  const { hostname = '', host = '', port, protocol } = URL.parse(text(url)) ?? {}
  const needs: readonly CallNeed[] = host === ''
    ? []
    : [{ kind: 'net', subject: `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}` }]
  return { ...reading(hostname || 'not a URL', [], host === '' ? 'nothing: it is not a URL' : `reach ${host}`), needs }
}
