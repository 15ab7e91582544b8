import {
  BulkheadError, defineExtension, ToolError, type ConfigFile, type ManifestInput, type Net, type Secrets,
  type SessionMemory,
} from '@bulkhead/contract'
import { isJsonObject, pointerKey, type Json } from '@bulkhead/kit/json'
import { BUNDLED, type BundledExtension } from '../model/bundled-extension.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    query: { type: 'string', minLength: 1, maxLength: 1000, description: 'What to search for.' },
    max_results: { type: 'integer', minimum: 1, maximum: 20, description: 'Maximum number of results. Default: 10.' },
  },
  required: ['query'],
  additionalProperties: false,
} as const

const RESULTS = 10
const CALLS_PER_SESSION = 25
const TIMEOUT_MS = 15_000

/** The tool can reach only the configured providers. */
export function createWebSearch(config: SearchConfig = {}): BundledExtension {
  const { providers = [], callsPerSession = CALLS_PER_SESSION, timeoutMs = TIMEOUT_MS } = config
  const requires = { net: { hosts: [...new Set(providers.map(hostOf))] }, capabilities: ['session' as const] }
  const secretNames = new Set(providers.flatMap(({ secret }) => secret ?? []))
  const secrets = Array.from(secretNames, (name) => {
    const users = providers.filter(({ secret }) => secret === name)
    return { name, hosts: [...new Set(users.map(hostOf))] }
  })
  return {
    manifest: {
      ...BUNDLED,
      id: 'web-search',
      secrets,
      tools: [{
        name: 'web_search',
        label: 'Search the web',
        description: 'Searches the web and returns the title, URL and a snippet of each result. Read a result with '
          + 'web_fetch.',
        inputSchema: INPUT_SCHEMA,
        requires,
        gated: true,
        mode: 'external',
        kind: 'fetch',
        idempotent: true,
        timeoutMs,
      }],
    } satisfies ManifestInput,
    module: defineExtension({
      secrets: [...secretNames],
      tools: {
        web_search: {
          input: INPUT_SCHEMA,
          requires,
          async execute({ query, max_results = RESULTS }, runtime) {
            const provider = providerFor(await runtime.session.id(), providers)
            if (provider === undefined) throw noProvider()
            await countCall(runtime.session, callsPerSession)
            return { results: await search(provider, query, max_results, runtime) }
          },
          deriveApprovalKey: () => 'web_search',
        },
      },
    }),
  }
}

async function search(
  provider: SearchProvider, query: string, limit: number, runtime: { readonly net: Net; readonly secrets?: Secrets },
): Promise<readonly SearchResult[]> {
  const key = provider.secret === undefined ? undefined : await runtime.secrets?.handle(provider.secret)
  const response = await runtime.net.fetch(searchUrl(provider, query), {
    headers: { accept: 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
  })
  if (response.status === 429 || response.status >= 500) {
    throw new ToolError(
      'ResourceBusy', `The search provider ${hostOf(provider)} answered with status ${response.status}.`,
    )
  }
  if (response.status !== 200) {
    throw new ToolError(
      'ToolExecutionFailed', `The search provider ${hostOf(provider)} answered with status ${response.status}.`,
    )
  }
  return readResults(await response.json(), provider, limit)
}

/** Counts a call before it is sent, because failed calls cost the provider as much. */
async function countCall(session: SessionMemory, most: number): Promise<void> {
  const before = await session.read()
  const calls = typeof before === 'number' ? before : 0
  if (calls >= most) {
    const message = `This session has searched ${most} times, which is the limit. Continue without searching.`
    throw new ToolError('ToolExecutionFailed', message)
  }
  await session.write(calls + 1)
}

const noProvider = () => new BulkheadError(
  'CapabilityUnavailable',
  'No search provider is configured. Answer without searching. (The operator can add one under "search" in '
    + 'config.json.)',
)

export type SearchConfig = NonNullable<ConfigFile['search']>
type SearchProvider = NonNullable<SearchConfig['providers']>[number]

interface SearchResult {
  readonly title: string
  readonly url: string
  readonly snippet: string
}

/** Selects a provider by session. A session always uses the same one, so that a failing provider is noticed. */
export function providerFor(sessionId: string, providers: readonly SearchProvider[]): SearchProvider | undefined {
  // FNV-1a is enough for an even distribution.
  let hash = 0x811c9dc5
  for (const char of sessionId) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193) >>> 0
  return providers[hash % Math.max(providers.length, 1)]
}

/** The host as written in requirements. Default ports are omitted. */
export function hostOf({ url }: SearchProvider): string {
  const { hostname, port } = new URL(url.replaceAll('{query}', 'x'))
  return port === '' ? hostname : `${hostname}:${port}`
}

/** Replaces {query} in the URL, or adds the parameter `q`. SearXNG also needs a path and a format. */
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
/** Field names that providers use, most common first. */
const TITLE = ['title', 'name', 'heading']
const LINK = ['url', 'link', 'href']
const SNIPPET = ['content', 'snippet', 'description', 'text', 'abstract', 'summary']
/** Default paths of the result list in a response. */
const RESULT_PATHS = ['/results', '/items', '/web/results', '/data', '/hits', '/organic_results', '/webPages/value', '']

/**
 * Reads results from a response and skips those without an http URL. Throws ToolExecutionFailed if there is no list.
 */
export function readResults(answer: Json, { resultsPath }: SearchProvider, limit: number): readonly SearchResult[] {
  const paths = resultsPath === undefined ? RESULT_PATHS : [resultsPath]
  const list = paths.map((pointer) => valueAt(answer, pointer)).find((value) => Array.isArray(value))
  if (list === undefined) {
    throw new ToolError(
      'ToolExecutionFailed', `The response of the search provider has no list of results at ${paths.join(', ')}.`,
    )
  }
  const results: SearchResult[] = []
  for (const item of list) {
    const url = textIn(item, LINK)
    if (results.length === limit) break
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) continue
    results.push({
      url, title: plain(textIn(item, TITLE), TITLE_CHARS), snippet: plain(textIn(item, SNIPPET), SNIPPET_CHARS),
    })
  }
  return results
}

/** Resolves a JSON Pointer. */
function valueAt(value: Json | undefined, pointer: string): Json | undefined {
  const steps = pointer.split('/').slice(1).map(pointerKey)
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
  text.slice(0, chars * 2).replaceAll(/<\/?[a-z][^<>]{0,100}>/gi, '').replaceAll(INVISIBLE, ' ').trim()
    .slice(0, chars).toWellFormed()

const INVISIBLE = /[\s\p{Cc}\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]+/gu
