import { BulkheadError, defineExtension, ToolError, type ManifestInput, type Net, type Secrets, type SessionMemory } from '@bulkhead/contract'
import { BUNDLED, type BundledExtension } from '../model/bundled-extension.ts'
import { hostOf, providerFor, readResults, type SearchConfig, type SearchProvider, type SearchResult, searchUrl } from './results.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    query: { type: 'string', minLength: 1, maxLength: 1000, description: 'What to search for.' },
    max_results: { type: 'integer', minimum: 1, maximum: 20, description: 'How many results at most. Default: 10.' },
  },
  required: ['query'],
  additionalProperties: false,
} as const

const RESULTS = 10
const CALLS_PER_SESSION = 25
const TIMEOUT_MS = 15_000

/** Reaches the configured providers and nothing else. */
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
        description: 'Searches the web and returns title, address and a few words of each result. Read a result with web_fetch.',
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
    throw new ToolError('ResourceBusy', `The search provider ${hostOf(provider)} answered with status ${response.status}.`)
  }
  if (response.status !== 200) {
    throw new ToolError('ToolExecutionFailed', `The search provider ${hostOf(provider)} answered with status ${response.status}.`)
  }
  return readResults(await response.json(), provider, limit)
}

/** Counted before it is made: what fails costs the provider as much. */
async function countCall(session: SessionMemory, most: number): Promise<void> {
  const before = await session.read()
  const calls = typeof before === 'number' ? before : 0
  if (calls >= most) {
    const message = `This session has searched ${most} times, which is as often as it may. Go on with what is known.`
    throw new ToolError('ToolExecutionFailed', message)
  }
  await session.write(calls + 1)
}

const noProvider = () => new BulkheadError(
  'CapabilityUnavailable',
  'No search provider is configured. Answer without searching. (The operator of the host can name one under "search" in config.json.)',
)
