import { type ConfigFile, ToolError } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'

export type SearchConfig = NonNullable<ConfigFile['search']>
export type SearchProvider = NonNullable<SearchConfig['providers']>[number]

export interface SearchResult {
  readonly title: string
  readonly url: string
  readonly snippet: string
}

/** The provider of a session: always the same one, so that one that fails does so throughout and is seen to. */
export function providerFor(sessionId: string, providers: readonly SearchProvider[]): SearchProvider | undefined {
  // FNV-1a: spread evenly is all it must be.
  let hash = 0x811c9dc5
  for (const char of sessionId) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193) >>> 0
  return providers[hash % Math.max(providers.length, 1)]
}

/** As requirements write it: its own ports go without saying. */
export function hostOf({ url }: SearchProvider): string {
  const { hostname, port } = new URL(url.replaceAll('{query}', 'x'))
  return port === '' ? hostname : `${hostname}:${port}`
}

/** Where a query goes. SearXNG has its own form; elsewhere {query} stands for it, or it is the parameter `q`. */
export function searchUrl({ type, url }: SearchProvider, query: string): string {
  if (url.includes('{query}')) return url.replaceAll('{query}', encodeURIComponent(query))
  const target = new URL(url)
  if (type === 'searxng') {
    target.pathname = target.pathname.replace(/(?:\/search)?(?<!\/)\/*$/, '/search')
    target.searchParams.set('format', 'json')
  }
  target.searchParams.set('q', query)
  return target.href
}

const TITLE_CHARS = 300
const SNIPPET_CHARS = 2_000
/** What providers call the three things, the most usual first. */
const TITLE = ['title', 'name', 'heading']
const LINK = ['url', 'link', 'href']
const SNIPPET = ['content', 'snippet', 'description', 'text', 'abstract', 'summary']
/** Default paths of the result list in a response. */
const PLACES = ['/results', '/items', '/web/results', '/data', '/hits', '/organic_results', '/webPages/value', '']

/** The results in an answer, those without an http address left out. Throws ToolExecutionFailed for what is no list of results. */
export function readResults(answer: Json, { resultsPath }: SearchProvider, limit: number): readonly SearchResult[] {
  const places = resultsPath === undefined ? PLACES : [resultsPath]
  const list = places.map((pointer) => valueAt(answer, pointer)).find((value) => Array.isArray(value))
  if (list === undefined) {
    throw new ToolError('ToolExecutionFailed', `The search provider answered without a list of results at ${places.join(', ')}.`)
  }
  const results: SearchResult[] = []
  for (const item of list) {
    const url = textIn(item, LINK)
    if (results.length === limit) break
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) continue
    results.push({ url, title: plain(textIn(item, TITLE), TITLE_CHARS), snippet: plain(textIn(item, SNIPPET), SNIPPET_CHARS) })
  }
  return results
}

/** By JSON Pointer. */
function valueAt(value: Json | undefined, pointer: string): Json | undefined {
  const steps = pointer.split('/').slice(1).map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return steps.reduce<Json | undefined>((at, step) => {
    if (Array.isArray(at)) return at[Number(step)]
    return isJsonObject(at) && Object.hasOwn(at, step) ? at[step] : undefined
  }, value)
}

function textIn(item: Json, names: readonly string[]): string {
  if (!isJsonObject(item)) return ''
  const values = names.map((name) => Object.hasOwn(item, name) ? item[name] : undefined)
  return values.find((value): value is string => typeof value === 'string') ?? ''
}

/** Removes highlight tags and invisible characters. */
const plain = (text: string, chars: number): string =>
  text.slice(0, chars * 2).replaceAll(/<\/?[a-z][^<>]{0,100}>/gi, '').replaceAll(UNSEEN, ' ').trim().slice(0, chars).toWellFormed()

const UNSEEN = /[\s\p{Cc}\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]+/gu
