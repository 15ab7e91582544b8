import { lstatSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { BulkheadError, type FilesFound, type WholeOutput } from '@bulkhead/contract'
import type { FileScope } from '../file-scope.ts'
import type { FolderHandle } from '../disk.ts'
import type { ResolvedPath } from '../path-policy.ts'
import { joinNames, shownPath } from '../paths.ts'
import { isSliceSpent, nextSlice, narrowingArguments, type FilePattern } from './file-pattern.ts'
import { runRipgrep } from './ripgrep.ts'
import type { FindRequest } from './request.ts'

/** Up to this many matches are sorted here. Beyond that ripgrep is faster. */
const SORTED_HERE = 2_000
/** lstat calls in one turn of the event loop. */
const STATS_PER_TURN = 50

/**
 * Regular files of the grant that match, newest first. If the pattern begins with folders, the search starts there,
 * even if ignore files exclude them.
 */
export async function findFiles(
  scope: FileScope, pattern: FilePattern, request: FindRequest, signal: AbortSignal, whole?: WholeOutput,
): Promise<FilesFound> {
  const base = await scope.locate(request.path, 'leads')
  const resolved = await startOf(scope, base, pattern)
  if (resolved === undefined) return { paths: [], total: 0 }
  return scope.asFolder(resolved, async (folder) => {
    const granted = await scope.matcher()
    const all = await scope.coversAll(resolved)
    const named = (path: string): string => [...pattern.folder, path].join('/')
    const leftOut = new Set<string>()
    const isWanted = (path: string): boolean => {
      if (!pattern.matches(named(path))) return false
      if (all) return true
      const match = granted(joinNames(resolved.real, path))
      if (match.isLeftOut) leftOut.add(path)
      return match.covers
    }
    const search: Search = { folder, args: narrowingArguments(pattern.text), isWanted, signal }
    const isSorted = request.order === 'newest'
    const { first, total } = await list(search, isSorted ? SORTED_HERE : request.limit)
    const shown = (paths: readonly string[]): readonly string[] =>
      paths.slice(0, request.limit).map((path) => shownPath(request.path, [named(path)]))
    const counted = leftOut.size === 0 ? {} : { leftOut: leftOut.size }
    if (!isSorted) return { paths: shown(first), total, ...counted }
    const isSortedHere = total <= SORTED_HERE
    if (isSortedHere) {
      const newest = await newestFirst(folder, first)
      await whole?.add('paths', linesOf(newest.map((path) => shownPath(request.path, [named(path)]))))
      return { paths: shown(newest), total: newest.length, ...counted }
    }
    if (whole === undefined) return { paths: shown(await sortedByRipgrep(search, request.limit)), total, ...counted }
    const saved = new SavedPaths(request.limit, whole, (path) => shownPath(request.path, [named(path)]))
    return { ...await saved.collect({ ...search, args: [...search.args, SORTED] }), total, ...counted }
  })
}

async function startOf(
  scope: FileScope, base: ResolvedPath, { folder }: FilePattern,
): Promise<ResolvedPath | undefined> {
  if (folder.length === 0) return base
  const resolved = await scope.locate(joinNames(base.given, ...folder), 'leads').catch(missing)
  const found = resolved && await scope.lstat(resolved).catch(missing)
  return found?.kind === 'folder' ? resolved : undefined
}

function missing(error: unknown): undefined {
  if (BulkheadError.is(error) && error.code === 'NotFound') return undefined
  throw error
}

interface Listed {
  /** Unsorted. */
  readonly first: readonly string[]
  readonly total: number
}

interface Search {
  readonly folder: FolderHandle
  readonly args: readonly string[]
  readonly isWanted: (path: string) => boolean
  readonly signal: AbortSignal
}

async function list(search: Search, most: number): Promise<Listed> {
  const first: string[] = []
  let total = 0
  await eachPath(search, (path) => {
    if (total++ < most) first.push(path)
    return true
  })
  return { first, total }
}

const SORTED = '--sortr=modified'
/** The end of the list that a model sees. */
const LAST = 20

const linesOf = (lines: readonly string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(''))

/** Saves all paths, and keeps the first and the last. */
class SavedPaths {
  readonly #limit: number
  readonly #whole: WholeOutput
  readonly #shown: (path: string) => string
  readonly #paths: string[] = []
  #last: string[] = []
  #waiting: string[] = []

  constructor(limit: number, whole: WholeOutput, shown: (path: string) => string) {
    this.#limit = limit
    this.#whole = whole
    this.#shown = shown
  }

  async collect(search: Search): Promise<Pick<FilesFound, 'paths' | 'last'>> {
    await eachPath(search, (path) => this.#take(this.#shown(path)), () => this.#save())
    await this.#save()
    const last = this.#last.slice(-LAST)
    return { paths: this.#paths, ...(last.length > 0 && { last }) }
  }

  #take(path: string): true {
    this.#waiting.push(path)
    if (this.#paths.length < this.#limit) this.#paths.push(path)
    else if (this.#last.push(path) > 2 * LAST) this.#last = this.#last.slice(-LAST)
    return true
  }

  #save(): Promise<void> | undefined {
    const lines = linesOf(this.#waiting)
    this.#waiting = []
    return lines.length === 0 ? undefined : this.#whole.add('paths', lines)
  }
}

async function sortedByRipgrep(search: Search, limit: number): Promise<readonly string[]> {
  const newest: string[] = []
  await eachPath({ ...search, args: [...search.args, SORTED] }, (path) => newest.push(path) < limit)
  return newest
}

/** The files below a folder that ripgrep would search. Until `take` returns false. `pause` is awaited before more is read. */
export async function eachPath(
  { folder, args, isWanted, signal }: Search, take: (path: string) => boolean,
  pause: () => Promise<void> | undefined = () => undefined,
): Promise<void> {
  const takeWanted = (path: string): boolean => !isWanted(path) || take(path)
  let rest: Buffer = Buffer.alloc(0)
  // Split in bulk: there may be a hundred thousand paths.
  const takeAll = async (bytes: Buffer): Promise<boolean> => {
    const all = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    const end = all.lastIndexOf(0)
    rest = all.subarray(end + 1)
    if (end < 0) return true
    for (const path of all.toString('utf8', 0, end).split('\0')) {
      if (isSliceSpent()) await nextSlice()
      signal.throwIfAborted()
      if (!takeWanted(path.startsWith('./') ? path.slice(2) : path)) return false
    }
    await pause()
    return true
  }
  await runRipgrep({ args: ['--files', '--null', ...args], cwd: folder.at('.'), signal, take: takeAll })
}

function modifiedAt(path: string): bigint | undefined {
  try {
    return lstatSync(path, { bigint: true }).mtimeNs
  } catch {
    return undefined
  }
}

/**
 * Sorts by modification time, then by path. Removed files, and names that are not valid UTF-8, are left out.
 * Synchronous lstat in small batches is ten times as fast as awaiting each.
 */
async function newestFirst(folder: FolderHandle, paths: readonly string[]): Promise<readonly string[]> {
  const files: { readonly path: string; readonly modified: bigint }[] = []
  for (const [index, path] of paths.entries()) {
    if (index % STATS_PER_TURN === STATS_PER_TURN - 1) await nextTurn()
    const modified = modifiedAt(folder.at(path))
    if (modified !== undefined) files.push({ path, modified })
  }
  return files.toSorted((one, other) => {
    if (one.modified !== other.modified) return one.modified > other.modified ? -1 : 1
    return one.path < other.path ? -1 : 1
  }).map(({ path }) => path)
}
