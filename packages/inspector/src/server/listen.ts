import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { isIP, type AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { isThisMachine } from '@bulkhead/kit/hosts'

export interface ListenOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** 0 is any free one. */
  readonly port: number
  readonly tls?: { readonly cert: Buffer | string; readonly key: Buffer | string }
  /** Allows clear text on the network. */
  readonly insecure?: boolean
}

export interface Listening {
  /** Where a browser on this machine reaches it. */
  readonly url: string
  /** Resolves when no connection is left. Idempotent. */
  close(): Promise<void>
}

const MOST_CONNECTIONS = 64
const HEADERS_MS = 10_000
const REQUEST_MS = 30_000

/** Serves a fetch-style handler. Throws TypeError for clear text beyond this machine. */
export async function listen(
  fetch: (request: Request) => Promise<Response>, { host = '127.0.0.1', port, tls, insecure = false }: ListenOptions,
): Promise<Listening> {
  const name = isIP(host) === 6 ? `[${host}]` : host
  const isLocal = isThisMachine({ hostname: name })
  if (!isLocal && !tls && !insecure) throw new TypeError(`Other machines can reach ${host}. It requires \`tls\` or \`insecure\`.`)
  const scheme = tls ? 'https' : 'http'
  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    answer(req, res, fetch, scheme).catch(() => res.destroy())
  }
  const limits = { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS }
  const server = tls ? createHttpsServer({ ...limits, ...tls }, listener) : createHttpServer(limits, listener)
  server.maxConnections = MOST_CONNECTIONS
  server.listen(port, host)
  await once(server, 'listening')
  const { port: bound } = server.address() as AddressInfo
  return {
    // Passkeys need a name. Node listens on the address that browsers try for it.
    url: `${scheme}://${isLocal ? 'localhost' : name}:${bound}`,
    async close() {
      if (!server.listening) return
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function answer(
  req: IncomingMessage, res: ServerResponse, fetch: (request: Request) => Promise<Response>, scheme: string,
): Promise<void> {
  const request = requestOf(req, scheme)
  if (request === undefined) return void res.writeHead(400).end()
  const response = await fetch(request)
  res.writeHead(response.status, [...response.headers].flat())
  if (response.body === null || req.method === 'HEAD') return void res.end()
  const reader = response.body.getReader()
  res.once('close', () => void reader.cancel().catch(() => undefined))
  for (;;) {
    const { done, value } = await reader.read()
    if (done || res.closed) break
    // A slow client stops the reading, and the backlog of its subscription is bounded.
    if (!res.write(value)) await writable(res)
  }
  res.end()
}

/** Leaves no listener behind: a slow client makes this wait for each of its events. */
async function writable(res: ServerResponse): Promise<void> {
  const left = new AbortController()
  const { signal } = left
  await Promise.race([once(res, 'drain', { signal }), once(res, 'close', { signal })]).finally(() => left.abort())
}

/** undefined: it is malformed. */
function requestOf(req: IncomingMessage, scheme: string): Request | undefined {
  const { method = 'GET', headers, url = '/' } = req
  const address = URL.parse(url, `${scheme}://${headers.host ?? 'localhost'}`)
  if (address === null || !url.startsWith('/') || url.startsWith('//')) return undefined
  const given = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && !name.startsWith(':') ? [[name, value]] : [])
  const hasBody = method !== 'GET' && method !== 'HEAD'
  try {
    return new Request(address, {
      method, headers: given, ...(hasBody && { body: Readable.toWeb(req) as ReadableStream, duplex: 'half' as const }),
    })
  } catch {
    return undefined
  }
}
