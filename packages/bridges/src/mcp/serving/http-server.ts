import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { MCP_HTTP_LIMITS } from '@bulkhead/contract'
import { HttpClients, type HttpClientOptions } from './http-clients.ts'
import { HttpConnections } from './http-connections.ts'
import { HttpFault, jsonBody, refuse, send, webRequest } from './http-exchange.ts'
import { bracketed, HttpGuard, isLocal } from './http-guard.ts'
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
  /** The tokens that clients send, one for each client. Default: one that cannot be guessed. */
  readonly tokens?: readonly string[]
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
  const { host: address = '127.0.0.1', port = 0, tls, insecure, onFault } = options
  const tokens = options.tokens ?? [randomBytes(32).toString('base64url')]
  if (tokens.length === 0 || tokens.some((token) => !TOKEN.test(token))) {
    throw new TypeError('`tokens` needs at least one token of 16 or more characters without spaces.')
  }
  if (!isLocal(address) && !tls && insecure !== true) {
    throw new TypeError(`Listening on ${address} requires \`tls\` or \`insecure\`.`)
  }
  const sdk = await import('@modelcontextprotocol/server')
  const guard = new HttpGuard({ sdk, host: address, tokens, cert: tls?.cert })
  const clients = new HttpClients(sdk, host, options)
  let isClosing = false

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const token = guard.check(req.headers)
    if (typeof token !== 'number') return refuse(res, token)
    if (!connections.assign(req, res, token)) {
      throw new HttpFault(503, `${connectionsPerToken} connections with this token are in use. Close some.`)
    }
    if (isClosing) throw new HttpFault(503, 'The server is shutting down.')
    if (req.url?.split('?', 1)[0] !== PATH) throw new HttpFault(404, `The server answers at ${PATH} only.`)
    if (!METHODS.has(req.method)) throw new HttpFault(405, 'Send requests with POST.')
    const body = req.method === 'POST' ? await jsonBody(req) : undefined
    const gone = new AbortController()
    res.once('close', () => gone.abort())
    await clients.serve(webRequest(req, gone.signal), body, token, (response) => send(res, response))
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
  const connections = new HttpConnections<number>(server)
  server.listen(port, address)
  await once(server, 'listening')
  server.on('error', (error) => onFault?.(error))

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
    url: `${tls ? 'https' : 'http'}://${bracketed(address)}:${(server.address() as AddressInfo).port}${PATH}`,
    tokens, closed,
    close() {
      if (!isClosing) void close()
      return closed
    },
  }
}

const TOKEN = /^[\x21-\x7e]{16,}$/
const METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'POST', 'DELETE'])
