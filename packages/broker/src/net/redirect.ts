import { BulkheadError } from '@bulkhead/contract'
import { Denial, type Cures } from '../model/denial.ts'
import { hasHandle } from '../secrets/handle.ts'
import type { HostScope } from '../hosts/host-allow-list.ts'
import type { Outgoing } from './request.ts'
import type { Target } from '../hosts/url-policy.ts'
import { judgeParsed } from '../hosts/url-policy.ts'

/** One request of a fetch: the first, or where a redirect led. */
export interface Hop {
  readonly target: Target
  readonly request: Outgoing
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/**
 * What goes along to another origin. Beside authorization and cookies, keys travel in headers of any name, so that
 * only those are kept that are known to carry none, and not even these when a secret stands in them.
 */
const CARRIED: ReadonlySet<string> = new Set([
  'accept', 'accept-encoding', 'accept-language', 'cache-control', 'content-encoding', 'content-language', 'content-type',
  'if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since', 'range', 'user-agent',
])
const OF_BODY: ReadonlySet<string> = new Set(['content-encoding', 'content-language', 'content-location', 'content-type'])

/** Where a response sends its request, judged from scratch; undefined when it is an answer. */
export function nextHop(hop: Hop, status: number, location: string, scope: HostScope): Hop | undefined {
  if (!REDIRECTS.has(status) || location === '') return undefined
  const { target, request } = hop
  const next = judgeLocation(target, location, scope)
  const plain = becomesGet(status, request.method)
  const abroad = next.url.origin !== target.url.origin
  const headers = [...request.headers].filter(([name, value]) =>
    (!plain || !OF_BODY.has(name)) && (!abroad || (CARRIED.has(name) && !hasHandle(value))))
  return { target: next, request: { ...request, headers: new Map(headers), ...(plain && { method: 'GET', body: null }) } }
}

function judgeLocation({ url, host }: Target, location: string, scope: HostScope): Target {
  const parsed = URL.parse(location, url)
  if (parsed === null) throw new BulkheadError('ToolExecutionFailed', `The host ${host} redirects to what is not a URL.`)
  if (url.protocol === 'https:' && parsed.protocol === 'http:') {
    throw new Denial(`The host ${host} redirects from https to http, which is not followed.`, UNFOLLOWED, { power: 'net', host })
  }
  try {
    return judgeParsed(parsed, scope)
  } catch (error) {
    const elsewhere = `The host ${host} redirects elsewhere.`
    if (error instanceof Denial) throw new Denial(`${elsewhere} ${error.what}`, error.cures, error.data ?? null)
    const { code, message, data } = BulkheadError.from(error)
    // The tool did not write this URL.
    const told = code === 'InputInvalid' ? 'ToolExecutionFailed' : code
    throw new BulkheadError(told, `${elsewhere} ${message}`, {
      cause: error, ...(data !== undefined && { data }),
    })
  }
}

const UNFOLLOWED: Cures = {
  author: "Fetch with redirect: 'manual' to see where it leads.",
  caller: 'Use the address it leads to if that is meant.',
}

const becomesGet = (status: number, method: string): boolean =>
  status === 303 ? method !== 'GET' && method !== 'HEAD' : (status === 301 || status === 302) && method === 'POST'
