import { ToolError } from '@bulkhead/contract'
import { isJsonObject, valueAt, type Json } from '@bulkhead/kit/json'
import type { ResultPaths } from './service.ts'

export interface SearchResult {
  readonly title: string
  readonly url: string
  readonly snippet: string
}

const TITLE_CHARS = 300
const SNIPPET_CHARS = 2_000

/**
 * Reads results from a response and skips those without an http URL. Throws ToolExecutionFailed if there is no list.
 */
export function readResults(answer: Json, paths: ResultPaths, limit: number): readonly SearchResult[] {
  const list = paths.results.map((pointer) => valueAt(answer, pointer)).find((value) => Array.isArray(value))
  if (list === undefined) {
    if (paths.isOptional && isJsonObject(answer)) return []
    const places = paths.results.map((path) => path || 'its top').join(', ')
    const message = `The response of the search provider has no list of results at ${places}. `
      + '(The operator can set resultsPath.)'
    throw new ToolError('ToolExecutionFailed', message)
  }
  const results: SearchResult[] = []
  for (const item of list) {
    const url = textAt(item, paths.url)
    if (results.length === limit) break
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) continue
    const [title, snippet] = [textAt(item, paths.title), textAt(item, paths.snippet)]
    results.push({ url, title: plainText(title, TITLE_CHARS), snippet: plainText(snippet, SNIPPET_CHARS) })
  }
  return results
}

/** The first string, or list with strings, at one of the pointers. */
function textAt(item: Json, pointers: readonly string[]): string {
  for (const pointer of pointers) {
    const value = valueAt(item, pointer)
    if (typeof value === 'string') return value
    const texts = Array.isArray(value) ? value.filter((text) => typeof text === 'string') : []
    if (texts.length > 0) return texts.join(' … ')
  }
  return ''
}

/** Removes highlight tags and invisible characters. */
export const plainText = (text: string, chars: number): string =>
  text.slice(0, chars * 2).replaceAll(/<\/?[a-z][^<>]{0,100}>/gi, '').replaceAll(INVISIBLE, ' ').trim()
    .slice(0, chars).toWellFormed()

const INVISIBLE = /[\s\p{Cc}\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]+/gu
