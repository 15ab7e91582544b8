import type { ConfigFile } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'

export type SearchConfig = NonNullable<ConfigFile['search']>
export type SearchProvider = NonNullable<SearchConfig['providers']>[number]

/**
 * How a provider is asked and how its answer is read. Strings may contain `{query}` and `{max_results}`, headers and
 * query parameters also `{secret}`.
 */
export interface SearchService {
  readonly url: string
  readonly method: 'GET' | 'POST'
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body: JsonObject | undefined
  readonly secret: string | undefined
  /** The most results that it returns at once. */
  readonly maxResults: number
  /** JSON Pointers. Of several, the first that leads to a value of the right type counts. */
  readonly paths: ResultPaths
}

export interface ResultPaths {
  readonly results: readonly string[]
  readonly title: readonly string[]
  readonly url: readonly string[]
  /** To a string or a list of strings. */
  readonly snippet: readonly string[]
  /** Whether the provider leaves out the list if nothing was found. */
  readonly isOptional: boolean
}

/** Where providers put these, most common first. */
const COMMON: ResultPaths = {
  results: ['/results', '/items', '/web/results', '/data', '/hits', '/organic_results', '/webPages/value', ''],
  title: ['/title', '/name', '/heading'],
  url: ['/url', '/link', '/href'],
  snippet: ['/content', '/snippet', '/description', '/text', '/abstract', '/summary'],
  isOptional: false,
}

const get = (secret: string | undefined, service: Pick<SearchService, 'url'> & Partial<SearchService>): SearchService =>
  ({ method: 'GET', headers: {}, query: {}, body: undefined, secret, maxResults: Infinity, paths: COMMON, ...service })

const post = (secret: string, url: string, headers: SearchService['headers'], body: JsonObject): SearchService =>
  get(secret, { method: 'POST', url, headers, body })

const BEARER = { authorization: 'Bearer {secret}' } as const
/** As a whole string of a body it becomes a number. */
export const MAX_RESULTS = '{max_results}'

/** The service that a provider of the configuration means. */
export function serviceOf(provider: SearchProvider): SearchService {
  const { secret } = provider
  switch (provider.type) {
    case 'brave':
      return get(secret, {
        url: 'https://api.search.brave.com/res/v1/web/search',
        headers: { 'x-subscription-token': '{secret}' },
        query: { q: '{query}', count: MAX_RESULTS, text_decorations: 'false' },
        paths: { ...COMMON, results: ['/web/results'], isOptional: true },
      })
    case 'tavily':
      return post(provider.secret, 'https://api.tavily.com/search', BEARER, { query: '{query}', max_results: MAX_RESULTS })
    case 'exa': {
      const body = { query: '{query}', numResults: MAX_RESULTS, contents: { highlights: true } }
      const service = post(provider.secret, 'https://api.exa.ai/search', { 'x-api-key': '{secret}' }, body)
      return { ...service, paths: { ...COMMON, snippet: ['/highlights', '/text', '/summary'] } }
    }
    case 'google-cse':
      return get(secret, {
        url: 'https://www.googleapis.com/customsearch/v1',
        query: { key: '{secret}', cx: provider.engine, q: '{query}', num: MAX_RESULTS },
        maxResults: 10,
        paths: { ...COMMON, results: ['/items'], isOptional: true },
      })
    case 'searxng':
      return searxng(provider)
    case 'json':
      return custom(provider)
  }
}

function searxng({ url, secret, resultsPath }: Extract<SearchProvider, { type: 'searxng' }>): SearchService {
  const paths = { ...COMMON, results: pathOr(resultsPath, COMMON.results) }
  const headers = secret === undefined ? {} : BEARER
  if (url.includes('{query}')) return get(secret, { url, headers, paths })
  const base = new URL(url)
  base.pathname = base.pathname.replace(/(?:\/search)?(?<!\/)\/*$/, '/search')
  return get(secret, { url: base.href, headers, paths, query: { format: 'json', q: '{query}' } })
}

function custom(provider: Extract<SearchProvider, { type: 'json' }>): SearchService {
  const { url, secret, body, method = body === undefined ? 'GET' : 'POST', maxResults = Infinity } = provider
  const { headers = {}, query = {} } = provider
  const sendsSecret = [headers, query].some((templates) => isUsed('secret', templates))
  const asks = isUsed('query', [url, query, body ?? null])
  return {
    url,
    method,
    headers: {
      ...(secret !== undefined && !sendsSecret && BEARER),
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    },
    query: { ...query, ...(!asks && { q: '{query}' }) },
    body: body as JsonObject | undefined,
    secret,
    maxResults,
    paths: {
      results: pathOr(provider.resultsPath, COMMON.results),
      title: pathOr(provider.titlePath, COMMON.title),
      url: pathOr(provider.urlPath, COMMON.url),
      snippet: pathOr(provider.snippetPath, COMMON.snippet),
      isOptional: false,
    },
  }
}

const pathOr = (path: string | undefined, otherwise: readonly string[]): readonly string[] =>
  path === undefined ? otherwise : [path]

const isUsed = (variable: string, templates: Json): boolean => JSON.stringify(templates).includes(`{${variable}}`)

/** The host as written in requirements. Default ports are omitted. */
export function hostOf({ url }: Pick<SearchService, 'url'>): string {
  const { hostname, port } = new URL(url.replaceAll(/\{\w+\}/g, 'x'))
  return port === '' ? hostname : `${hostname}:${port}`
}
