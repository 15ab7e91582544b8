import {
  BulkheadError, defineTool, ToolError, type Net, type Secrets, type SessionMemory,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { SessionTurns } from '../model/session-turns.ts'
import { requestOf } from './request.ts'
import { plainText, readResults, type SearchResult } from './results.ts'
import { hostOf, serviceOf, type SearchConfig, type SearchService } from './service.ts'

export type { SearchConfig }

const RESULTS = 10
const CALLS_PER_SESSION = 25
const TIMEOUT_MS = 15_000

/** The tool can reach only the configured providers. */
export function createTool({ search: config = {} }: { readonly search?: SearchConfig | undefined }) {
  const { providers = [], callsPerSession = CALLS_PER_SESSION, timeoutMs = TIMEOUT_MS } = config
  const services = providers.map(serviceOf)
  const turns = new SessionTurns()
  const secretNames = new Set(services.flatMap(({ secret }) => secret ?? []))
  const secrets = Array.from(secretNames, (name) => {
    const users = services.filter(({ secret }) => secret === name)
    return { name, hosts: [...new Set(users.map(hostOf))] }
  })
  return defineTool({
    label: 'Search the web',
    description: 'Searches the web and returns the title, URL and a snippet of each result. Read a result with '
      + 'web_fetch.',
    input: {
      type: 'object',
      properties: {
        query: { type: 'string', minLength: 1, maxLength: 1000, description: 'What to search for.' },
        max_results: { type: 'integer', minimum: 1, maximum: 20, description: 'Maximum number of results. Default: 10.' },
      },
      required: ['query'],
      additionalProperties: false,
    },
    requires: { net: { hosts: [...new Set(services.map(hostOf))] }, capabilities: ['session'] },
    secrets,
    gated: true,
    mode: 'external',
    kind: 'fetch',
    idempotent: true,
    timeoutMs,
    async execute({ query, max_results = RESULTS }, runtime) {
      const service = serviceFor(await runtime.session.id(), services)
      if (service === undefined) throw noProvider()
      await turns.take(runtime.session, () => countCall(runtime.session, callsPerSession))
      return { results: await find(service, query, max_results, runtime) }
    },
    deriveApprovalKey: () => 'web_search',
  })
}

async function find(
  service: SearchService, query: string, limit: number, runtime: { readonly net: Net; readonly secrets?: Secrets },
): Promise<readonly SearchResult[]> {
  const secret = service.secret === undefined ? undefined : await runtime.secrets?.handle(service.secret)
  const wanted = Math.min(limit, service.maxResults)
  const { url, ...request } = requestOf(service, { query, max_results: wanted, secret })
  const response = await runtime.net.fetch(url, request)
  const text = await response.text()
  if (response.status !== 200) throw statusError(service, response.status, text)
  return readResults(parse(text, service), service.paths, wanted)
}

function parse(text: string, service: SearchService): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    throw failed(`The response of the search provider ${hostOf(service)} is not JSON.${CHECK_URL}`)
  }
}

/** How much of an explanation of the provider is shown. */
const REASON_CHARS = 300
const CHECK_URL = ' (The operator can check the URL in the configuration.)'
const failed = (message: string): ToolError => new ToolError('ToolExecutionFailed', message)

function statusError(service: SearchService, status: number, body: string): ToolError {
  const reason = plainText(body, REASON_CHARS)
  const message = `The search provider ${hostOf(service)} answered with status ${status}`
    + (/\w/.test(reason) ? `: ${reason}` : '.')
  if (status === 429 || status >= 500) return new ToolError('ResourceBusy', message)
  if (status === 404) return failed(message + CHECK_URL)
  const isRefused = (status === 401 || status === 403) && service.secret !== undefined
  return failed(isRefused ? `${message} (The operator can check the value of ${service.secret}.)` : message)
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

/** Selects a service by session. A session always uses the same one, so that a failing provider is noticed. */
export function serviceFor(sessionId: string, services: readonly SearchService[]): SearchService | undefined {
  // FNV-1a is enough for an even distribution.
  let hash = 0x811c9dc5
  for (const char of sessionId) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193) >>> 0
  return services[hash % Math.max(services.length, 1)]
}
