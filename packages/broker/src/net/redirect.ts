import { BulkheadError } from '@bulkhead/contract'
import { Denial, type Remedies } from '../model/capability.ts'
import { hasHandle } from '../secrets/handles.ts'
import type { HostAllowList } from '../hosts/host-allow-list.ts'
import type { OutgoingRequest } from './request.ts'
import { checkParsedUrl, type Target } from '../hosts/url-policy.ts'

/** One request of a fetch: the first one, or one that follows a redirect. */
export interface Hop {
  readonly target: Target
  readonly request: OutgoingRequest
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/**
 * Headers that follow a redirect to another origin. Credentials travel in headers of any name, so this is an allow list
 * of headers that carry none. A header with a secret handle is dropped in any case.
 */
const CARRIED: ReadonlySet<string> = new Set([
  'accept', 'accept-encoding', 'accept-language', 'cache-control', 'content-encoding', 'content-language', 'content-type',
  'if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since', 'range', 'user-agent',
])
const OF_BODY: ReadonlySet<string> = new Set(['content-encoding', 'content-language', 'content-location', 'content-type'])

/** The next request if the response is a redirect. Its URL is checked like any other. */
export function nextHop(hop: Hop, status: number, location: string, scope: HostAllowList): Hop | undefined {
  if (!REDIRECTS.has(status) || location === '') return undefined
  const { target, request } = hop
  const next = checkLocation(target, location, scope)
  const isGet = becomesGet(status, request.method)
  const isCrossOrigin = next.url.origin !== target.url.origin
  const headers = [...request.headers].filter(([name, value]) =>
    (!isGet || !OF_BODY.has(name)) && (!isCrossOrigin || (CARRIED.has(name) && !hasHandle(value))))
  return { target: next, request: { ...request, headers: new Map(headers), ...(isGet && { method: 'GET', body: null }) } }
}

function checkLocation({ url, host }: Target, location: string, scope: HostAllowList): Target {
  const parsed = URL.parse(location, url)
  if (parsed === null) throw new BulkheadError('ToolExecutionFailed', `The host ${host} redirects to an invalid URL.`)
  if (url.protocol === 'https:' && parsed.protocol === 'http:') {
    throw new Denial(`The host ${host} redirects from https to http. Such a redirect is not followed.`, UNFOLLOWED, { power: 'net', host })
  }
  try {
    return checkParsedUrl(parsed, scope)
  } catch (error) {
    const elsewhere = `The host ${host} redirects elsewhere.`
    if (error instanceof Denial) throw new Denial(`${elsewhere} ${error.what}`, error.remedies, error.data ?? null)
    const { code, message, data } = BulkheadError.from(error)
    // The URL is not the tool's input.
    const errorCode = code === 'InputInvalid' ? 'ToolExecutionFailed' : code
    throw new BulkheadError(errorCode, `${elsewhere} ${message}`, {
      cause: error, ...(data !== undefined && { data }),
    })
  }
}

const UNFOLLOWED: Remedies = {
  author: "Fetch with redirect: 'manual' to see where it leads.",
  caller: 'Use the http URL directly if you want it.',
}

const becomesGet = (status: number, method: string): boolean =>
  status === 303 ? method !== 'GET' && method !== 'HEAD' : (status === 301 || status === 302) && method === 'POST'
