import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { MCP_HTTP_LIMITS } from '@bulkhead/contract'
import { FORWARDED, MISDIRECTED, reachable } from './forward.ts'
import type { HttpClientOptions } from './http-client.ts'
import { HttpClients } from './http-clients.ts'
import { HttpConnections } from './http-connections.ts'
import { HttpFault, jsonBody, refuse, send, webRequest } from './http-exchange.ts'
import { bracketed, HttpGuard, isLocal, type KnownClient, type VerifyToken } from './http-guard.ts'
import { checkIssuer, ProtectedResource } from './protected-resource.ts'
import type { ServedHost } from './served-session.ts'
import type { Serving } from './serve-tools.ts'

export interface HttpServeOptions extends HttpClientOptions {
  /** The address to listen on. One beyond this machine requires `tls` or `insecure`. Default: 127.0.0.1. */
  readonly host?: string
  /** Default: a free one. */
  readonly port?: number
  /** Certificate and private key, as PEM. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer }
  /** Whether tokens, arguments and results may cross a network in clear text. */
  readonly insecure?: boolean
  /** One for each client. Default: one that cannot be guessed; with `verify`, none. */
  readonly tokens?: readonly string[]
  /**
   * Called for each request with another token. Resolves with its client; undefined if it is not valid. It must check
   * that a token of an authorization server is meant for this server (its audience).
   */
  readonly verify?: VerifyToken
  /** The URL of the authorization server whose tokens `verify` accepts. Clients find it in the metadata of RFC 9728. */
  readonly issuer?: string
}

export interface HttpServing extends Serving {
  readonly url: string
  readonly tokens: readonly string[]
}

const PATH = '/mcp'
const { connectionsPerToken, headersMs: headersTimeout, requestMs: requestTimeout } = MCP_HTTP_LIMITS
/** How often Node looks for connections that are too slow. */
const CHECK_MS = 1_000
/** Time for responses to leave after the end of all sessions. */
const FLUSH_MS = 1_000

/**
 * Serves the tools of a host over Streamable HTTP, in both eras of the protocol. Each client needs a token and gets a
 * session of its own: in the older era with `initialize`, in the newer one with its token. Ends with `close`. The host
 * stays open. Rejects if the address cannot be used, or if `@modelcontextprotocol/server` is not installed.
 */
export async function serveToolsOverHttp(host: ServedHost, options: HttpServeOptions): Promise<HttpServing> {
  const { host: address = '127.0.0.1', port = 0, tls, insecure, verify, issuer, onFault } = options
  const tokens = options.tokens ?? (verify ? [] : [randomBytes(32).toString('base64url')])
  if ((tokens.length === 0 && !verify) || tokens.some((token) => !isToken(token))) {
    throw new TypeError('`tokens` needs at least one token of 16 or more characters without spaces.')
  }
  if (issuer !== undefined && !verify) throw new TypeError('`issuer` requires `verify`.')
  if (issuer !== undefined) checkIssuer(issuer)
  if (!isLocal(address) && !tls && insecure !== true) {
    throw new TypeError(`Listening on ${address} requires \`tls\` or \`insecure\`.`)
  }
  const sdk = await import('@modelcontextprotocol/server')
  const guard = new HttpGuard({ sdk, host: address, tokens, verify, cert: tls?.cert })
  const scheme = tls ? 'https' : 'http'
  const resource = new ProtectedResource({ scheme, path: PATH, name: options.info.name, issuer })
  const clients = new HttpClients(sdk, host, options)
  let isClosing = false

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { shouldKeepAlive } = res
    // A connection without a token ends with its refusal.
    res.shouldKeepAlive = false
    const refusal = guard.refusalOf(req.headers)
    if (refusal) return refuse(res, refusal)
    const path = req.url?.split('?', 1)[0]
    if (resource.answer(res, path)) return
    const client = await guard.clientOf(req.headers)
    if (client === undefined || client.revoked?.aborted) return refuse(res, resource.unauthorized(res))
    if (!connections.assign(req, res, client.key)) {
      throw new HttpFault(503, `${connectionsPerToken} connections of this client are in use. Close some.`)
    }
    endWhenRevoked(client)
    res.shouldKeepAlive = shouldKeepAlive
    if (isClosing) {
      throw new HttpFault(req.headers[FORWARDED] === undefined ? 503 : MISDIRECTED, 'The server is shutting down.')
    }
    if (path !== PATH) throw new HttpFault(404, `The server answers at ${PATH} only.`)
    if (!METHODS.has(req.method)) throw new HttpFault(405, 'Send requests with POST.')
    const body = req.method === 'POST' ? await jsonBody(req) : undefined
    const gone = new AbortController()
    res.once('close', () => gone.abort())
    await clients.serve(webRequest(req, gone.signal), body, client, (response) => send(res, response))
  }

  const watched = new WeakSet<AbortSignal>()
  function endWhenRevoked({ key, revoked }: KnownClient): void {
    if (revoked === undefined || watched.has(revoked)) return
    watched.add(revoked)
    revoked.addEventListener('abort', () => void clients.end(key).finally(() => connections.end(key)), { once: true })
  }

  const listener = (req: IncomingMessage, res: ServerResponse) => void serve(req, res).catch((error: Error) => {
    if (!(error instanceof HttpFault)) onFault?.(error)
    if (res.headersSent) return void res.destroy()
    refuse(res, error instanceof HttpFault ? error : { status: 500, message: 'The request failed.' })
  })
  const limits = { headersTimeout, requestTimeout, connectionsCheckingInterval: CHECK_MS }
  const server: Server = tls
    ? createHttpsServer({ ...limits, handshakeTimeout: headersTimeout, ...tls }, listener)
    : createHttpServer(limits, listener)
  const connections = new HttpConnections(server)
  server.listen(port, address)
  await once(server, 'listening')
  server.on('error', (error) => onFault?.(error))
  const { port: bound } = server.address() as AddressInfo
  const urlAt = (place: string): string => `${scheme}://${bracketed(place)}:${bound}${PATH}`
  if (clients.replicas) {
    clients.replicas.self = { url: urlAt(reachable(address)), ...(tls && { cert: String(tls.cert) }) }
  }

  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const close = async () => {
    isClosing = true
    const ended = once(server, 'close')
    server.close()
    await clients.end()
    server.closeIdleConnections()
    setTimeout(() => server.closeAllConnections(), FLUSH_MS).unref()
    await ended
    resolve()
  }
  return {
    url: urlAt(address), tokens, closed,
    close() {
      if (!isClosing) void close()
      return closed
    },
  }
}

/** Whether a text can be a token: long enough, and printable without spaces. */
export const isToken = (text: string): boolean => /^[\x21-\x7e]{16,}$/.test(text)

const METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'POST', 'DELETE'])
