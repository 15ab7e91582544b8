import { isIP, type Socket } from 'node:net'
import { BulkheadError } from '@bulkhead/contract'
import { isThisMachine } from '@bulkhead/kit/hosts'
import { checkUrl, HostAllowList, portOf } from '../hosts/url-policy.ts'
import { checkedConnector, systemLookup, type Lookup } from './connect.ts'

export interface PostOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Addresses that are not public and may be reached, such as `10.0.0.5:8443`. The operator names them. */
  readonly addresses?: readonly string[]
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  readonly ca?: string | undefined
  readonly lookup?: Lookup
}

/**
 * One POST of the host itself, over https, or http on this machine: with the checks of addresses that requests of tools
 * get, and no redirects. Resolves with the status; the body of the response is not read.
 */
export async function postOnce(options: PostOptions): Promise<number> {
  const { url: text, headers, body, addresses = [], timeoutMs, signal, ca, lookup = systemLookup } = options
  const parsed = URL.parse(text)
  if (!parsed || (parsed.protocol !== 'https:' && !isThisMachine(parsed))) {
    throw new BulkheadError('ConfigInvalid', `"${text}" is no address to send to. Use https, or http on this machine.`)
  }
  const own = `${parsed.hostname}:${portOf(parsed)}`
  // An address in place of a name counts only if the operator names it besides.
  const isAddress = isIP(parsed.hostname.replace(/^\[|\]$/g, '')) !== 0
  const scope = new HostAllowList(isAddress && !isThisMachine(parsed) ? addresses : [own, ...addresses])
  const { url } = checkUrl(text, scope)
  const sockets = new Set<Socket>()
  const undici = await import('undici')
  const agent = new undici.Agent({
    connect: checkedConnector({ scope, lookup, ca, timeoutMs, sockets }), headersTimeout: timeoutMs, bodyTimeout: timeoutMs,
  })
  try {
    const { statusCode, body: answer } = await undici.request(url, { method: 'POST', headers, body, dispatcher: agent, signal: signal ?? null })
    answer.destroy()
    answer.on('error', () => undefined)
    return statusCode
  } finally {
    agent.destroy().catch(() => undefined)
  }
}
