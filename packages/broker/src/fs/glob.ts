import type { GlobMatch } from '@bulkhead/kit/glob'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'
import type { FileScope } from './file-scope.ts'
import { isMissing } from './file-errors.ts'
import { compileGlobPattern } from './glob-pattern.ts'
import type { HeldFolder } from './folder-handle.ts'
import { entriesOf } from './list-folder.ts'
import type { Place } from './path-policy.ts'
import { joinNames } from './paths.ts'
import { isSliceSpent, nextSlice } from './time-slices.ts'

export interface GlobLimits {
  /** Paths in one answer. → OutputTooLarge, unless the tool asked for fewer */
  readonly results: number
  /** Names looked at. → OutputTooLarge */
  readonly names: number
  /** Folders in folders. → OutputTooLarge */
  readonly depth: number
  /** Time of the whole search, in ms. → OutputTooLarge */
  readonly timeMs: number
}

export const GLOB_LIMITS: GlobLimits = { results: 10_000, names: 200_000, depth: 64, timeMs: 20_000 }

export interface GlobRequest {
  readonly match: (names: readonly string[]) => GlobMatch
  readonly path: string
  readonly limit: number | undefined
}

/** Throws InputInvalid for what is not of its form. */
export function readGlobRequest(pattern: string, options: Json | undefined, { results }: GlobLimits): GlobRequest {
  if (options !== undefined && options !== null && !isJsonObject(options)) throw invalid('its options are not an object')
  const { path = '.', limit } = options ?? {}
  if (typeof path !== 'string') throw invalid('its path is not a text')
  const isCount = typeof limit === 'number' && Number.isSafeInteger(limit) && limit > 0
  if (limit !== undefined && !isCount) throw invalid('its limit is not a whole number above 0')
  return { match: compileGlobPattern(pattern), path, limit: isCount ? Math.min(limit, results) : undefined }
}

/**
 * Regular files of the grant below a folder, in the order of their names, folder by folder. Links are neither followed
 * nor found. Each folder is entered from the one above it, so that no name on the way can be exchanged for a link.
 */
export async function globFiles(
  scope: FileScope, place: Place, { match, limit }: GlobRequest, limits: GlobLimits, signal: AbortSignal,
): Promise<string[]> {
  const granted = await scope.matcher()
  const until = performance.now() + limits.timeMs
  const results: string[] = []
  let looked = 0

  const search = async (folder: HeldFolder, real: string, above: readonly string[]): Promise<void> => {
    for (const { name, kind } of await entriesOf(folder, limits.names - looked).catch(tooMuch)) {
      if (isSliceSpent()) {
        await nextSlice()
        goOn()
      }
      looked++
      const [names, path] = [[...above, name], joinNames(real, name)]
      const [wanted, allowed] = [match(names), granted(path)]
      if (kind === 'file' && wanted.covers && allowed.covers) {
        if (results.length === limits.results) throw tooMany(limits)
        results.push(names.join('/'))
      }
      if (kind === 'directory' && wanted.leads && allowed.leads) await enter(folder, path, names)
      if (results.length === limit) return
    }
  }

  const enter = async (folder: HeldFolder, path: string, names: readonly string[]): Promise<void> => {
    goOn()
    if (names.length > limits.depth) throw tooMany(limits)
    const child = await folder.child(names.at(-1)!).catch(gone)
    try {
      // Moved in the meantime, it is no longer what was judged.
      if (child !== undefined && scope.isAt(child.where, path)) await search(child, path, names)
    } finally {
      await child?.release()
    }
  }

  const goOn = (): void => {
    if (signal.aborted) throw BulkheadError.from(signal.reason, 'ToolCancelled')
    if (performance.now() > until) throw tooMany(limits)
  }

  const tooMuch = (error: unknown): never => {
    throw BulkheadError.is(error) && error.code === 'OutputTooLarge' ? tooMany(limits) : error
  }

  await scope.asFolder(place, (folder) => search(folder, place.real, []))
  return results
}

/** A folder that became something else, or nothing, while the search was on is not in it; one that may not be read neither. */
function gone(error: unknown): undefined {
  const { code } = error as { readonly code?: unknown }
  if (isMissing(error) || code === 'ELOOP' || code === 'EACCES') return undefined
  throw error
}

const tooMany = ({ results, names, depth, timeMs }: GlobLimits): BulkheadError =>
  new BulkheadError(
    'OutputTooLarge',
    `The search was given up: it may find ${results} files, among ${names} names ${depth} folders deep, in ${timeMs} ms. `
      + 'Search a smaller folder, or with a pattern that leaves more out.',
  )

const invalid = (why: string): BulkheadError => new BulkheadError('InputInvalid', `The search cannot be made: ${why}.`)
