import { compileGlob, type GlobMatch } from '@bulkhead/kit/glob'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import type { FileScope } from './file-scope.ts'
import { isMissing } from './file-errors.ts'
import type { FolderHandle } from './folder-handle.ts'
import { entriesOf } from './read-file.ts'
import type { ResolvedPath } from './path-policy.ts'
import { joinNames } from './paths.ts'
import { isSliceSpent, nextSlice } from './time-slices.ts'

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

export interface GlobRequest {
  readonly match: (names: readonly string[]) => GlobMatch
  readonly path: string
  readonly limit: number | undefined
}

/** Throws InputInvalid. */
export function readGlobRequest(pattern: string, options: Json | undefined, { results }: GlobLimits): GlobRequest {
  if (options !== undefined && options !== null && !isJsonObject(options)) throw invalid('its options must be an object')
  const { path = '.', limit } = options ?? {}
  if (typeof path !== 'string') throw invalid('its path must be a string')
  const isCount = typeof limit === 'number' && Number.isSafeInteger(limit) && limit > 0
  if (limit !== undefined && !isCount) throw invalid('its limit must be a whole number above 0')
  return { match: compileGlobPattern(pattern), path, limit: isCount ? Math.min(limit, results) : undefined }
}

/**
 * Regular files of the grant below a folder, sorted by name within each folder. Links are neither followed nor returned.
 * Each folder is opened from its parent, so that no component can be replaced by a link.
 */
export async function globFiles(
  scope: FileScope, resolved: ResolvedPath, { match, limit }: GlobRequest, limits: GlobLimits, signal: AbortSignal,
): Promise<string[]> {
  const granted = await scope.matcher()
  const until = performance.now() + limits.timeMs
  const results: string[] = []
  let looked = 0

  const search = async (folder: FolderHandle, real: string, above: readonly string[]): Promise<void> => {
    for (const { name, kind } of await entriesOf(folder, limits.names - looked).catch(tooMuch)) {
      if (isSliceSpent()) {
        await nextSlice()
        requireTime()
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
  return results
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

const invalid = (why: string): BulkheadError => new BulkheadError('InputInvalid', `The search is invalid: ${why}.`)

const PATTERN_CHARS = 1_024
/** Strings that the braces of a pattern may expand to. */
const ALTERNATIVES = 64

/**
 * Compiles a pattern over paths below a folder: `*` within one name, `**` across folders, `{a,b}` alternatives. All else is
 * literal, brackets and question marks too, because names contain them. Throws InputInvalid for a pattern that cannot match.
 */
export function compileGlobPattern(pattern: string): (names: readonly string[]) => GlobMatch {
  const tests = alternativesOf(pattern).map((names) => compileGlob(names.join('/'), { below: false }))
  return (names) => {
    const matches = tests.map((test) => test(names))
    return { covers: matches.some(({ covers }) => covers), leads: matches.some(({ leads }) => leads) }
  }
}

/** The components of each expansion of a pattern. Throws InputInvalid if it leaves its folder. */
export function alternativesOf(pattern: string): readonly (readonly string[])[] {
  if (pattern === '' || pattern.length > PATTERN_CHARS || pattern.includes('\0')) {
    throw new BulkheadError('InputInvalid', `The pattern is empty, longer than ${PATTERN_CHARS} characters, or contains a NUL.`)
  }
  return expandBraces(pattern).map((alternative) => {
    const names = alternative.split('/').filter((name, index) => name !== '.' && (name !== '' || index === 0))
    if (names[0] === '' || names.includes('..')) {
      throw new BulkheadError('InputInvalid', `The pattern "${pattern}" must not begin with "/" or contain "..".`)
    }
    return names
  })
}

/** Expands braces. Braces that do not close, or contain no comma, are literal. */
export function expandBraces(pattern: string): readonly string[] {
  const found = firstBraces(pattern)
  if (found === undefined) return [pattern]
  const { before, choices, after } = found
  const tails = expandBraces(after)
  const expanded = choices.flatMap(expandBraces).flatMap((choice) => tails.map((tail) => before + choice + tail))
  if (expanded.length > ALTERNATIVES) {
    throw new BulkheadError('InputInvalid', `The braces of the pattern expand to more than ${ALTERNATIVES} strings. Split the search.`)
  }
  return expanded
}

interface Braces {
  readonly before: string
  readonly choices: readonly string[]
  readonly after: string
}

function firstBraces(pattern: string): Braces | undefined {
  for (let open = pattern.indexOf('{'); open >= 0; open = pattern.indexOf('{', open + 1)) {
    const choices: string[] = []
    let depth = 0
    let from = open + 1
    for (let at = open + 1; at < pattern.length; at++) {
      const char = pattern[at]
      if (char === '{') depth++
      else if (char === '}' && depth > 0) depth--
      else if (depth === 0 && (char === ',' || char === '}')) {
        choices.push(pattern.slice(from, at))
        from = at + 1
        if (char === '}') break
      }
    }
    const closed = pattern[from - 1] === '}' && from > open + 1
    if (closed && choices.length > 1) return { before: pattern.slice(0, open), choices, after: pattern.slice(from) }
  }
  return undefined
}
