import { lstatSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FilesFound } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import type { FileScope } from '../file-scope.ts'
import type { HeldFolder } from '../folder-handle.ts'
import type { Place } from '../path-policy.ts'
import { joinNames } from '../paths.ts'
import { shownPath } from '../shown-path.ts'
import { isSliceSpent, nextSlice } from '../time-slices.ts'
import type { FilePattern } from './file-pattern.ts'
import { narrowing } from './narrowing.ts'
import { runRipgrep } from './ripgrep.ts'
import type { FindRequest } from './request.ts'

/** Up to so many matches are asked for their age here; ripgrep is quicker with more. */
const ASKED_HERE = 2_000
/** In one turn of the event loop. */
const ASKED_AT_ONCE = 50

/**
 * Regular files of the grant whose path from `path` is matched, newest first. Where a pattern begins with folders, the search
 * begins in them: what is named is looked into, ignored or not.
 */
export async function findFiles(
  scope: FileScope, pattern: FilePattern, request: FindRequest, signal: AbortSignal,
): Promise<FilesFound> {
  const base = await scope.locate(request.path, 'leads')
  const place = await startOf(scope, base, pattern)
  if (place === undefined) return { paths: [], total: 0 }
  return scope.asFolder(place, async (folder) => {
    const granted = await scope.matcher()
    const all = await scope.coversAll(place)
    const named = (path: string): string => [...pattern.folder, path].join('/')
    const isWanted = (path: string): boolean =>
      pattern.matches(named(path)) && (all || granted(joinNames(place.real, path)).covers)
    const search: Search = { folder, args: narrowing(pattern.text), isWanted, signal }
    const { first, total } = await list(search)
    const isAskedHere = total <= ASKED_HERE
    const newest = isAskedHere ? await newestFirst(folder, first) : await sortedByRipgrep(search, request.limit)
    const paths = newest.slice(0, request.limit).map((path) => shownPath(request.path, [named(path)]))
    return { paths, total: isAskedHere ? newest.length : total }
  })
}

async function startOf(scope: FileScope, base: Place, { folder }: FilePattern): Promise<Place | undefined> {
  if (folder.length === 0) return base
  const place = await scope.locate(joinNames(base.given, ...folder), 'leads').catch(missing)
  const found = place && await scope.look(place).catch(missing)
  return found?.kind === 'folder' ? place : undefined
}

function missing(error: unknown): undefined {
  if (BulkheadError.is(error) && error.code === 'NotFound') return undefined
  throw error
}

interface Listed {
  /** As many as are asked for their age here, in no order. */
  readonly first: readonly string[]
  readonly total: number
}

interface Search {
  readonly folder: HeldFolder
  readonly args: readonly string[]
  readonly isWanted: (path: string) => boolean
  readonly signal: AbortSignal
}

async function list(search: Search): Promise<Listed> {
  const first: string[] = []
  let total = 0
  await eachPath(search, (path) => {
    if (total++ < ASKED_HERE) first.push(path)
    return true
  })
  return { first, total }
}

async function sortedByRipgrep(search: Search, limit: number): Promise<readonly string[]> {
  const newest: string[] = []
  await eachPath({ ...search, args: [...search.args, '--sortr=modified'] }, (path) => newest.push(path) < limit)
  return newest
}

/** Until `take` has enough. */
async function eachPath({ folder, args, isWanted, signal }: Search, take: (path: string) => boolean): Promise<void> {
  const takeWanted = (path: string): boolean => !isWanted(path) || take(path)
  let rest: Buffer = Buffer.alloc(0)
  // Many at once: there may be a hundred thousand of them.
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
 * What is gone by then is left out, and what has a name that is no text and cannot be asked for by it. Equally new ones come in
 * the order of their paths. A few at a time without waiting: to wait for each would take ten times as long as asking.
 */
async function newestFirst(folder: HeldFolder, paths: readonly string[]): Promise<readonly string[]> {
  const aged: { readonly path: string; readonly modified: bigint }[] = []
  for (const [index, path] of paths.entries()) {
    if (index % ASKED_AT_ONCE === ASKED_AT_ONCE - 1) await nextTurn()
    const modified = modifiedAt(folder.at(path))
    if (modified !== undefined) aged.push({ path, modified })
  }
  return aged.toSorted((one, other) => {
    if (one.modified !== other.modified) return one.modified > other.modified ? -1 : 1
    return one.path < other.path ? -1 : 1
  }).map(({ path }) => path)
}
