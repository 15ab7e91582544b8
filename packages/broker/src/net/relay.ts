import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline, type Duplex } from 'node:stream'
import { BulkheadError } from '@bulkhead/contract'
import { checkUrl, HostAllowList, type Target } from '../hosts/url-policy.ts'
import { reaper } from '../process/reaper.ts'
import { checkedConnector, systemLookup, type Lookup } from './connect.ts'

export interface RelayOptions {
  /** Host patterns, as in requirements. */
  readonly hosts: readonly string[]
  /** Each must cover a host, too. */
  readonly ceilings?: readonly (readonly string[])[]
  /** Called with each refused host, at most a few times. Must not throw. */
  onRefused(host: string): void
  /** Resolves names. Default: the resolver of the system. */
  readonly lookup?: Lookup
}

export interface Relay {
  /** A folder that only this user can reach. It contains the Unix socket RELAY_SOCKET. */
  readonly folder: string
  /** Closes all connections and removes the folder. Idempotent. */
  close(): Promise<void>
}

export const RELAY_SOCKET = 'relay.sock'

const CONNECT_MS = 10_000
/** A connection without traffic. */
const IDLE_MS = 300_000
const MOST_CONNECTIONS = 256
/** A process that tries many hosts must not fill the log. */
const MOST_REPORTS = 20
/** They concern one connection, not the request. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer',
  'transfer-encoding', 'upgrade', 'host',
])

/**
 * An HTTP proxy for a process that has no network of its own. It reaches the granted hosts only, by the same checks as
 * the requests of a tool: the name, then every address behind it. CONNECT carries https and everything else that runs
 * over TCP; a request with an absolute http URL is forwarded.
 */
export async function openRelay(
  { hosts, ceilings = [], onRefused, lookup = systemLookup }: RelayOptions,
): Promise<Relay> {
  const scope = new HostAllowList(hosts, ceilings)
  const sockets = new Set<Socket>()
  const connect = checkedConnector({ scope, lookup, ca: undefined, timeoutMs: CONNECT_MS, sockets })
  const refused = new Set<string>()

  const dial = (url: string): Promise<{ readonly target: Target; readonly upstream: Socket }> =>
    new Promise((resolve, reject) => {
      const target = checkUrl(url, scope)
      const address = { hostname: target.host, host: target.host, port: String(target.port), protocol: 'http:' }
      connect(address, (error, upstream) => {
        if (error !== null) return reject(error)
        upstream.setTimeout(IDLE_MS, () => upstream.destroy())
        resolve({ target, upstream })
      })
    })
  /** The status for the client. Only a refused host is reported. */
  const statusOf = (error: unknown, what: string): 403 | 502 => {
    const isDenied = BulkheadError.is(error) && (error.code === 'CapabilityDenied' || error.code === 'InputInvalid')
    if (isDenied && !refused.has(what) && refused.size < MOST_REPORTS) {
      refused.add(what)
      onRefused(what)
    }
    return isDenied ? 403 : 502
  }

  const server = createServer((request, response) => {
    void forward(request, response, dial).catch((error: unknown) => {
      if (response.headersSent) return void response.destroy()
      response.writeHead(statusOf(error, hostOf(request.url)), { connection: 'close' }).end()
    })
  })
  server.maxConnections = MOST_CONNECTIONS
  server.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on('error', () => undefined)
    dial(`http://${request.url}`).then(({ upstream }) => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      upstream.write(head)
      pipeline(client, upstream, client, () => undefined)
    }, (error: unknown) => {
      const status = statusOf(error, hostOf(`http://${request.url}`))
      client.end(`HTTP/1.1 ${status} ${status === 403 ? 'Forbidden' : 'Bad Gateway'}\r\nconnection: close\r\n\r\n`)
    })
  })
  server.on('connection', (client: Socket) => {
    sockets.add(client)
    client.once('close', () => sockets.delete(client))
  })
  const folder = await mkdtemp(join(tmpdir(), 'bulkhead-relay-'))
  const forget = reaper.hold('folder', folder)
  const remove = async (): Promise<void> => {
    await rm(folder, { recursive: true, force: true })
    forget()
  }
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(join(folder, RELAY_SOCKET), resolve)
    })
  } catch (error) {
    await remove()
    throw error
  }
  server.unref()
  return {
    folder,
    async close() {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()))
      for (const one of sockets) one.destroy()
      await closed
      await remove()
    },
  }
}

/** For a report. The text comes from the process. */
const hostOf = (url = ''): string => (URL.parse(url)?.host ?? 'an unreadable address').slice(0, 253)

type Dial = (url: string) => Promise<{ readonly target: Target; readonly upstream: Socket }>

async function forward(request: IncomingMessage, response: ServerResponse, dial: Dial): Promise<void> {
  const { target, upstream } = await dial(request.url ?? '')
  if (target.url.protocol !== 'http:') {
    upstream.destroy()
    throw new BulkheadError('InputInvalid', 'Use CONNECT for https.')
  }
  const headers = Object.fromEntries(Object.entries(request.headersDistinct)
    .filter(([name, values]) => !HOP_BY_HOP.has(name) && values !== undefined)) as Record<string, string[]>
  const outgoing = httpRequest({
    method: request.method, path: `${target.url.pathname}${target.url.search}`, setHost: false,
    // Node ignores it if there is an agent, and would connect to another address.
    createConnection: () => upstream,
    headers: { ...headers, host: target.url.host, connection: 'close' },
  })
  await new Promise<void>((resolve, reject) => {
    outgoing.once('error', reject)
    outgoing.once('response', (answer) => {
      const kept = Object.entries(answer.headersDistinct).filter(([name]) => !HOP_BY_HOP.has(name))
      response.writeHead(answer.statusCode ?? 502, Object.fromEntries(kept) as Record<string, string[]>)
      pipeline(answer, response, () => resolve())
    })
    pipeline(request, outgoing, (error) => { if (error) reject(error) })
  })
}
