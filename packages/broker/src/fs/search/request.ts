import { BulkheadError, type SearchOptions } from '@bulkhead/contract'
import type { GlobMatch } from '@bulkhead/kit/glob'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { compileGlobPattern } from './file-pattern.ts'

const PATTERN_CHARS = 10_000
const CONTEXT_LINES = 100
/** Paths or matches in one result. */
const MAX_RESULTS = 10_000

export interface GlobRequest {
  readonly match: (names: readonly string[]) => GlobMatch
  readonly path: string
  /** Absent if the tool set none. */
  readonly limit: number | undefined
}

export interface FindRequest {
  readonly path: string
  readonly limit: number
  readonly order: 'newest' | 'any'
  /** Whether all that was found is saved. */
  readonly save: boolean
}

export type SearchRequest = Required<Omit<SearchOptions, 'glob' | 'type'>> & FindRequest & {
  readonly pattern: string
  readonly glob: string | undefined
  readonly type: string | undefined
}

/** Like the other two functions, throws InputInvalid. */
export function readGlobRequest(pattern: string, options: Json | undefined, maxResults: number): GlobRequest {
  const given = objectOf(options)
  return {
    path: text(given, 'path') ?? '.', limit: count(given, 'limit', 1, maxResults), match: compileGlobPattern(pattern),
  }
}

export function readFindRequest(options: Json | undefined): FindRequest {
  const given = objectOf(options)
  const order = text(given, 'order') ?? 'newest'
  if (order !== 'newest' && order !== 'any') throw invalid('its order must be newest or any')
  const limit = count(given, 'limit', 1, MAX_RESULTS) ?? MAX_RESULTS
  return { path: text(given, 'path') ?? '.', limit, order, save: given['save'] === true }
}

export function readSearchRequest(pattern: string, options: Json | undefined): SearchRequest {
  if (pattern === '' || pattern.length > PATTERN_CHARS || pattern.includes('\0') || !pattern.isWellFormed()) {
    throw invalid(
      `its pattern is empty, longer than ${PATTERN_CHARS} characters, or contains a NUL or an unpaired surrogate`,
    )
  }
  const given = objectOf(options)
  const type = text(given, 'type')
  if (type !== undefined && !/^[a-z0-9][a-z0-9_+-]{0,63}$/i.test(type)) {
    throw invalid('its type must be a file type such as ts or py')
  }
  const want = text(given, 'want') ?? 'lines'
  if (want !== 'lines' && want !== 'counts') throw invalid('want must be lines or counts')
  return {
    ...readFindRequest(options),
    pattern, type, want,
    glob: text(given, 'glob'),
    ignoreCase: given['ignoreCase'] === true,
    multiline: given['multiline'] === true,
    context: count(given, 'context', 0, CONTEXT_LINES) ?? 0,
  }
}

function objectOf(options: Json | undefined): JsonObject {
  if (options === undefined || options === null) return {}
  if (isJsonObject(options)) return options
  throw invalid('its options must be an object')
}

function text(given: JsonObject, key: string): string | undefined {
  const value = given[key]
  if (value === undefined || typeof value === 'string') return value
  throw invalid(`its ${key} must be a string`)
}

function count(given: JsonObject, key: string, least: number, most: number): number | undefined {
  const value = given[key]
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return Math.min(value, most)
  throw invalid(`its ${key} must be a whole number of at least ${least}`)
}

const invalid = (why: string): BulkheadError => new BulkheadError('InputInvalid', `The search is invalid: ${why}.`)
