import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isThisMachine } from '@bulkhead/kit/hosts'
import type { JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'

export interface FetchBounds {
  readonly maxBytes: number
  readonly headers?: Readonly<Record<string, string>>
  /** The authorization header for an address. Not used after a redirect to another origin. */
  readonly authorize?: (url: URL) => string | undefined
  readonly signal?: AbortSignal
  /** Called with the bytes received so far, and the total if the server sends it. */
  readonly onProgress?: (received: number, total: number | undefined) => void
}

/** For one request, up to the last byte. */
const TIMEOUT_MS = 5 * 60_000
const MAX_REDIRECTS = 5
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Requires https, except for addresses of this machine. Throws InstallSourceInvalid. */
export function checkUrl(text: string, what: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isThisMachine(url))) return url
  throw invalid(what, text, 'must start with https://. Correct or remove it')
}

/**
 * For an address from a server. It must not be in a closer network than the server itself, where services may trust
 * local clients.
 */
export function checkLink(text: string, what: string, from: URL): URL {
  const url = checkUrl(text, what)
  const zone = networkZone(url)
  if (!isCloser(zone, networkZone(from))) return url
  const fault = `is on ${zone}, and ${from.origin}, which refers to it, is not`
  const cure = 'Report it to the operator of the registry, or configure the registry by its IP address'
  throw invalid(what, text, `${fault}. ${cure}`)
}

const invalid = (what: string, text: string, fault: string) =>
  new BulkheadError(
    'InstallSourceInvalid', `The address of ${what} is "${visibleText(text.slice(0, 300))}": it ${fault}.`,
  )

/**
 * The body of a successful response. Rejects with InstallSourceUnavailable for other responses and for bodies that are
 * too long.
 */
export async function fetchBytes(url: URL, bounds: FetchBounds): Promise<Uint8Array> {
  const { maxBytes, signal, onProgress } = bounds
  const deadline = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const response = await followRedirects(url, bounds, signal ? AbortSignal.any([signal, deadline]) : deadline)
    if (!response.ok || response.body === null) {
      await response.body?.cancel()
      throw unavailable(url, `responds with status ${response.status}`, { status: response.status })
    }
    const announced = Number(response.headers.get('content-length') ?? Number.NaN)
    const total = Number.isSafeInteger(announced) && !response.headers.has('content-encoding') ? announced : undefined
    const chunks: Uint8Array[] = []
    let received = 0
    for await (const chunk of response.body) {
      received += chunk.length
      if (received > maxBytes) throw unavailable(url, `responds with more than ${maxBytes} bytes`)
      chunks.push(chunk)
      onProgress?.(received, total)
    }
    return Buffer.concat(chunks)
  } catch (error) {
    if (BulkheadError.is(error)) throw error
    const { cause } = error as { readonly cause?: unknown }
    throw unavailable(url, `cannot be reached: ${messageOf(cause instanceof Error ? cause : error)}`)
  }
}

/**
 * `fetch` alone would follow a redirect from https to http. The authorization header is sent to its own origin only.
 */
async function followRedirects(
  asked: URL, { headers, authorize }: FetchBounds, signal: AbortSignal,
): Promise<Response> {
  let url = asked
  let isOwnOrigin = true
  for (let steps = 0; steps <= MAX_REDIRECTS; steps++) {
    const authorization = isOwnOrigin ? authorize?.(url) : undefined
    const sent = { ...headers, ...(authorization !== undefined && { authorization }) }
    const response = await fetch(url, { headers: sent, signal, redirect: 'manual' })
    const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null
    if (location === null) return response
    await response.body?.cancel()
    const next = checkLink(URL.parse(location, url)?.href ?? location, `the redirect from ${url.origin}`, url)
    isOwnOrigin &&= next.origin === url.origin
    url = next
  }
  throw unavailable(asked, `redirects more than ${MAX_REDIRECTS} times`)
}

const unavailable = (url: URL, what: string, data?: JsonObject) =>
  new BulkheadError(
    'InstallSourceUnavailable', `${url.origin}${visibleText(url.pathname)} ${visibleText(what)}.`, data && { data },
  )

/** The network of a host, by its literal address. Names are not resolved. */
export type NetworkZone = 'this machine' | 'a private network' | 'elsewhere'

const ORDER: readonly NetworkZone[] = ['elsewhere', 'a private network', 'this machine']

const ownMachine = blockList('0.0.0.0/8', '127.0.0.0/8', '::/127')
const privateNetworks = blockList(
  '10.0.0.0/8', '100.64.0.0/10', '168.63.129.16/32', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24',
  '192.168.0.0/16', '198.18.0.0/15',
  'fc00::/7', 'fe80::/10', 'fec0::/10',
  // These ranges embed IPv4 addresses.
  '::/96', '64:ff9b::/96', '64:ff9b:1::/48', '2001::/32', '2002::/16',
)

export function networkZone({ hostname }: Pick<URL, 'hostname'>): NetworkZone {
  const host = hostname.replace(/^\[|\]$|\.$/g, '')
  if (/(?:^|\.)localhost$/.test(host)) return 'this machine'
  const family = isIPv4(host) ? 'ipv4' : isIPv6(host) ? 'ipv6' : undefined
  if (family === undefined) return 'elsewhere'
  if (ownMachine().check(host, family)) return 'this machine'
  return privateNetworks().check(host, family) ? 'a private network' : 'elsewhere'
}

export const isCloser = (one: NetworkZone, other: NetworkZone): boolean => ORDER.indexOf(one) > ORDER.indexOf(other)

/** Made at first use: most processes install nothing. */
function blockList(...ranges: readonly string[]): () => BlockList {
  let list: BlockList | undefined
  return () => {
    if (list !== undefined) return list
    list = new BlockList()
    for (const range of ranges) {
      const [start = '', bits] = range.split('/')
      list.addSubnet(start, Number(bits), isIPv4(start) ? 'ipv4' : 'ipv6')
    }
    return list
  }
}
