import type { ConfigFile } from '@bulkhead/contract'

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
