import { BulkheadError } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import type { FileScope } from '../file-scope.ts'
import { isMissing } from '../file-errors.ts'
import type { FolderHandle } from '../disk.ts'
import { entriesOf } from '../read-file.ts'
import type { ResolvedPath } from '../path-policy.ts'
import { joinNames } from '../paths.ts'
import { isSliceSpent, nextSlice } from './file-pattern.ts'
import type { GlobRequest } from './request.ts'

export interface GlobLimits {
  /** Paths in one result. → OutputTooLarge, unless the tool asked for fewer */
  readonly results: number
  /** Names visited. → OutputTooLarge */
  readonly names: number
  /** Depth of folders. → OutputTooLarge */
  readonly depth: number
  /** Total time, in ms. → OutputTooLarge */
  readonly timeMs: number
}

export const GLOB_LIMITS: GlobLimits = { results: 10_000, names: 200_000, depth: 64, timeMs: 20_000 }

export interface GlobFound {
  readonly paths: readonly string[]
  /** Matching files, and folders, that rules deny or ask about. */
  readonly leftOut: number
}

/**
 * Regular files of the grant below a folder, sorted by name within each folder. Links are neither followed nor
 * returned. Each folder is opened from its parent, so that no component can be replaced by a link.
 */
export async function globFiles(
  scope: FileScope, resolved: ResolvedPath, { match, limit }: GlobRequest, limits: GlobLimits, signal: AbortSignal,
): Promise<GlobFound> {
  const granted = await scope.matcher()
  const until = performance.now() + limits.timeMs
  const results: string[] = []
  let [looked, leftOut] = [0, 0]

  const search = async (folder: FolderHandle, real: string, above: readonly string[]): Promise<void> => {
    for (const { name, kind } of await entriesOf(folder, limits.names - looked).catch(tooMuch)) {
      if (isSliceSpent()) {
        await nextSlice()
        requireTime()
      }
      looked++
      const [names, path] = [[...above, name], joinNames(real, name)]
      const [wanted, allowed] = [match(names), granted(path)]
      if (allowed.isLeftOut && (kind === 'file' ? wanted.covers : kind === 'directory' && wanted.leads)) leftOut++
      if (kind === 'file' && wanted.covers && allowed.covers) {
        if (results.length === limits.results) throw tooMany(limits)
        results.push(names.join('/'))
      }
      if (kind === 'directory' && wanted.leads && allowed.leads) await enter(folder, path, names)
      if (results.length === limit) return
    }
  }

  const enter = async (folder: FolderHandle, path: string, names: readonly string[]): Promise<void> => {
    requireTime()
    if (names.length > limits.depth) throw tooMany(limits)
    const child = await folder.child(names.at(-1)!).catch(gone)
    try {
      // A folder that was moved meanwhile is not the one that was checked.
      if (child !== undefined && scope.isAt(child.where, path)) await search(child, path, names)
    } finally {
      await child?.release()
    }
  }

  const requireTime = (): void => {
    if (signal.aborted) throw BulkheadError.from(signal.reason, 'ToolCancelled')
    if (performance.now() > until) throw tooMany(limits)
  }

  const tooMuch = (error: unknown): never => {
    throw BulkheadError.is(error) && error.code === 'OutputTooLarge' ? tooMany(limits) : error
  }

  await scope.asFolder(resolved, (folder) => search(folder, resolved.real, []))
  return { paths: results, leftOut }
}

/** Skips a folder that was removed or replaced during the search, or is not readable. */
function gone(error: unknown): undefined {
  const code = errorCode(error)
  if (isMissing(error) || code === 'ELOOP' || code === 'EACCES') return undefined
  throw error
}

const tooMany = ({ results, names, depth, timeMs }: GlobLimits): BulkheadError =>
  new BulkheadError(
    'OutputTooLarge',
    `The search exceeded a limit: ${results} files, ${names} names, ${depth} levels of folders, ${timeMs} ms. `
      + 'Search a smaller folder, or use a narrower pattern.',
  )
