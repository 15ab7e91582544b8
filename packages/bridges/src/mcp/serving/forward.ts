import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { networkInterfaces } from 'node:os'
import { Readable } from 'node:stream'

/** Where a replica listens, for other replicas. */
export interface Peer {
  readonly url: string
  /** Its certificate. No other one is accepted. */
  readonly cert?: string
}

/** A replica that ended, or does not listen. */
export class LostReplica extends Error {
  override readonly name = 'LostReplica'
  /** Whether it may have handled the request. */
  readonly wasSent: boolean

  constructor(wasSent: boolean, cause: unknown) {
    super('The replica that has the session cannot be reached.', { cause })
    this.wasSent = wasSent
  }
}

/** A replica got a request of a session that it does not have. */
export const MISDIRECTED = 421
/** A forwarded request is not forwarded again. */
export const FORWARDED = 'bulkhead-forwarded'
/** Of one connection. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  'host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'upgrade', 'expect', FORWARDED,
])
const CHECK_MS = 1_000
type Body = ConstructorParameters<typeof Response>[0]

export const isForwarded = (request: Request): boolean => request.headers.has(FORWARDED)

/**
 * Sends a request to another replica, with the token of its client, which that replica checks again. Throws LostReplica.
 * `isGone`: whether that replica has ended.
 */
export async function forward(
  { url, cert }: Peer, { method, headers, signal }: Request, body: unknown, isGone: () => boolean,
): Promise<Response> {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const own = [...headers].filter(([name]) => !OF_CONNECTION.has(name))
  const sent = (cert === undefined ? httpRequest : httpsRequest)(url, {
    method, headers: { ...Object.fromEntries(own), [FORWARDED]: '1' }, agent: false, signal, ...(cert !== undefined && pinned(cert)),
  })
  const timer = setInterval(() => { if (isGone()) sent.destroy(new Error('The replica has ended.')) }, CHECK_MS).unref()
  sent.once('close', () => clearInterval(timer))
  sent.end(text)
  const response = await responseTo(sent, signal)
  const pairs = Object.entries(response.headers).flatMap(([name, value = '']) =>
    OF_CONNECTION.has(name) ? [] : [value].flat().map((one): [string, string] => [name, one]))
  const { statusCode: status = 502 } = response
  // A stream that breaks is ended by the caller, and reports nothing.
  response.on('error', () => undefined)
  const hasBody = status !== 204 && status !== 304
  return new Response(hasBody ? Readable.toWeb(response) as unknown as Body : null, {
    status, headers: pairs,
  })
}

async function responseTo(sent: ClientRequest, signal: AbortSignal): Promise<IncomingMessage> {
  try {
    const [response] = await once(sent, 'response') as [IncomingMessage]
    sent.on('error', () => undefined)
    return response
  } catch (error) {
    signal.throwIfAborted()
    const { code } = error as NodeJS.ErrnoException
    throw new LostReplica(code !== 'ECONNREFUSED' && code !== 'EHOSTUNREACH', error)
  }
}

/** The certificate is for names that clients use, so it is compared as a whole. */
const pinned = (cert: string) => ({
  ca: cert, allowPartialTrustChain: true,
  checkServerIdentity: (_name: string, peer: { readonly raw: Buffer }) =>
    peer.raw.equals(new X509Certificate(cert).raw) ? undefined : new Error('The replica has another certificate.'),
})

/** The address at which other processes reach a server that listens on this one. */
export function reachable(address: string): string {
  if (address !== '0.0.0.0' && address !== '::') return address
  const all = Object.values(networkInterfaces()).flatMap((found) => found ?? [])
  return all.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1'
}
