import { defineTool, type DirectoryEntry, type FileReader } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import type { JsonObject } from '@bulkhead/kit/json'
import { ALL_FILES } from '../model/bundled-extension.ts'
import { filesBelow, foldersOf, sizesOf } from '../model/files-below.ts'
import { leftOutWords } from '../model/left-out.ts'
import { pathKey, pathReader, refuseHome, stringOr } from '../model/paths.ts'

const MOST_ENTRIES = 1_000
/** Files that are not ignored. If there are more, folders are not marked. */
const MOST_FOUND = 10_000

export const tool = defineTool({
  label: 'List a folder',
  description: 'Lists the files and folders in a folder, with the size of each file in bytes. Links are of the kind '
    + '`other`. What ignore files exclude is marked `ignored`, and such folders are not opened. Returns at most 1000 '
    + 'entries, and `incomplete` if there are more. `left_out` is the number of entries that rules deny or '
    + 'ask about. To find files by name, use `glob`.',
  input: {
    type: 'object',
    properties: {
      path: { type: 'string', minLength: 1, description: 'The folder. Default: the workspace.' },
      depth: {
        type: 'integer', minimum: 1, maximum: 10,
        description: 'How many levels of folders to list. Default: 1, only what is directly in the folder.',
      },
    },
    required: [],
    additionalProperties: false,
  },
  requires: { fs: { read: [...ALL_FILES] } },
  gated: true,
  mode: 'read',
  kind: 'read',
  idempotent: true,
  maxOutput: '256KB',
  async execute({ path = '.', depth = 1 }, { fs, signal }) {
    refuseHome(path)
    const { entries, isWhole, leftOut } = await listFolder(fs, path, depth, signal)
    return {
      path, entries: await described(fs, path, entries, signal), ...(!isWhole && { incomplete: true }),
      ...leftOutWords(leftOut),
    }
  },
  deriveApprovalKey: ({ path }) => pathKey(path),
})

interface Folder {
  readonly folder: string
  readonly level: number
  readonly found: readonly DirectoryEntry[]
}

interface Entry {
  /** Relative to the folder. */
  readonly path: string
  readonly kind: DirectoryEntry['kind']
  readonly ignored?: true
}

interface Listed {
  readonly entries: readonly Entry[]
  readonly isWhole: boolean
  /** How many entries rules deny or ask about. */
  readonly leftOut: number
}

interface Children {
  readonly found: readonly DirectoryEntry[] & { readonly leftOut?: number }
  /** Whether these are all. */
  readonly isWhole: boolean
}

const NOTHING: Children = { found: [], isWhole: true }
const UNREADABLE: Children = { found: [], isWhole: false }

/** Level by level, so that a listing that is cut has the upper levels. */
async function listFolder(fs: FileReader, path: string, depth: number, signal: AbortSignal): Promise<Listed> {
  const { isIgnored, childrenOf } = await openFolder(fs, path)
  const first = await childrenOf('')
  const entries: Entry[] = []
  const folders: Folder[] = [{ folder: '', level: 1, found: first.found }]
  let planned = first.found.length
  let isWhole = first.isWhole
  let leftOut = first.found.leftOut ?? 0
  for (const { folder, level, found } of folders) {
    for (const { name, kind } of found) {
      signal.throwIfAborted()
      if (entries.length === MOST_ENTRIES) return { entries, isWhole: false, leftOut }
      const inside = folder === '' ? name : `${folder}/${name}`
      const isLeftOut = isIgnored(inside, kind)
      // More entries than can be shown are not read.
      const isOpened = kind === 'directory' && (isLeftOut || (level < depth && planned <= MOST_ENTRIES))
      const children = isOpened ? await childrenOf(inside).catch(() => UNREADABLE) : NOTHING
      // An empty folder has no files either.
      const ignored = isLeftOut && (kind !== 'directory' || children.found.length > 0)
      entries.push({ path: inside, kind, ...(ignored && { ignored: true }) })
      if (ignored || level === depth) continue
      folders.push({ folder: inside, level: level + 1, found: children.found })
      planned += children.found.length
      isWhole &&= children.isWhole
      leftOut += children.found.leftOut ?? 0
    }
  }
  return { entries, isWhole, leftOut }
}

/** Sorted by path, files with their sizes. */
async function described(
  fs: FileReader, folder: string, entries: readonly Entry[], signal: AbortSignal,
): Promise<readonly JsonObject[]> {
  const files = entries.filter(({ kind }) => kind === 'file')
  const sizes = await sizesOf(fs, files.map(({ path }) => `${folder}/${path}`), signal)
  const sizeOf = new Map(files.map(({ path }, index) => [path, sizes[index]!]))
  return entries.toSorted((one, other) => one.path < other.path ? -1 : 1).map(({ path, kind, ignored }) => ({
    path, kind, ...(kind === 'file' && { size: sizeOf.get(path)! }), ...(ignored && { ignored }),
  }))
}

interface OpenedFolder {
  /** Whether a file is excluded by an ignore file, or a folder has no file that is not. */
  isIgnored(inside: string, kind: DirectoryEntry['kind']): boolean
  childrenOf(inside: string): Promise<Children>
}

async function openFolder(fs: FileReader, path: string): Promise<OpenedFolder> {
  const { paths, total } = await filesBelow(fs, path, MOST_FOUND)
  const files = new Set(paths)
  const folders = new Set(paths.flatMap(foldersOf))
  /**
   * A ceiling may allow some of the files in a folder, and not the folder itself, and a folder may have too many
   * entries. Then the files that were found are listed.
   */
  const foundIn = (inside: string): readonly DirectoryEntry[] => {
    const isIn = (each: string): boolean => (foldersOf(each)[0] ?? '') === inside
    const named = (kind: 'directory' | 'file') => (each: string): DirectoryEntry =>
      ({ name: each.slice(each.lastIndexOf('/') + 1), kind })
    return [...[...folders].filter(isIn).map(named('directory')), ...paths.filter(isIn).map(named('file'))]
  }
  return {
    isIgnored: (inside, kind) => total <= paths.length
      && (kind === 'file' ? !files.has(inside) : kind === 'directory' && !folders.has(inside)),
    childrenOf: async (inside) => {
      try {
        return { found: await fs.list(inside === '' ? path : `${path}/${inside}`), isWhole: true }
      } catch (error) {
        const code = errorCode(error)
        if (code !== 'CapabilityDenied' && code !== 'OutputTooLarge') throw error
        return { found: foundIn(inside), isWhole: code === 'CapabilityDenied' }
      }
    },
  }
}

export const readArguments = pathReader(({ path }) => ({
  path: stringOr(path, '.'), verb: 'read the names below', isFolder: true, reads: true, needs: ['fs.read'],
}))
