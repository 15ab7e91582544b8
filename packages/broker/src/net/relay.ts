import type { IncomingMessage, ServerResponse } from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline, type Duplex } from 'node:stream'
import { BulkheadError, type KeyGrant, type KeyUse } from '@bulkhead/contract'
import { checkUrl, HostAllowList, type Target } from '../hosts/url-policy.ts'
import { reaper } from '../process/reaper.ts'
import { checkedConnector, IDLE_MS, systemLookup, type Lookup } from './connect.ts'
import { passedHeaders } from './http-headers.ts'
import type { KeyEnds } from './keys/key-ends.ts'
import type { KeyRing } from './keys/key-ring.ts'

export interface RelayOptions {
  /** Host patterns, as in requirements. */
  readonly hosts: readonly string[]
  /** Each must cover a host, too. */
  readonly ceilings?: readonly (readonly string[])[]
  /** Whether rules deny a host with its port. */
  readonly isDenied?: (host: string) => boolean
  /** Called with each refused host, at most a few times. Must not throw. */
  onRefused(host: string): void
  /** Resolves names. Default: the resolver of the system. */
  readonly lookup?: Lookup
  /** Keys that are sent in place of their placeholders. Contract: their hosts are granted. */
  readonly keys?: readonly KeyGrant[]
  /** Called with a line for each client that cannot use a key, and for a misplaced placeholder. Must not throw. */
  onKeyFault?(line: string): void
  /** Called for each placeholder on the way to a host. Must not throw. */
  onKeyUse?(use: KeyUse): void
}

export interface Relay {
  /** A folder that only this user can reach. It contains the Unix socket RELAY_SOCKET. */
  readonly folder: string
  /**
   * What the process gets for its keys: placeholders, and variables that name the authority for their hosts. `folder`:
   * where it sees the folder of the relay.
   */
  variables(folder: string): Readonly<Record<string, string>>
  /** Closes all connections and removes the folder. Idempotent. */
  close(): Promise<void>
}

export const RELAY_SOCKET = 'relay.sock'

/** Importing it takes 20 ms, and most processes have no relay. */
const http = () => process.getBuiltinModule('node:http')

const CONNECT_MS = 10_000
const MOST_CONNECTIONS = 256
/** A process that tries many hosts must not fill the log. */
const MOST_REPORTS = 20

/** Loads what only relays with keys need. */
export const loadKeyCode = (): Promise<typeof import('./keys/key-ends.ts')> => import('./keys/key-ends.ts')

/**
 * An HTTP proxy for a process that has no network of its own. It reaches the granted hosts only, by the same checks as
 * the requests of a tool: the name, then every address behind it. CONNECT carries https and everything else that runs
 * over TCP; a request with an absolute http URL is forwarded. TLS ends here for hosts of keys only. Rejects with
 * CapabilityUnavailable for a key that cannot be replaced.
 */
export async function openRelay(
  { hosts, ceilings = [], isDenied, onRefused, lookup = systemLookup, keys: grants = [], onKeyFault, onKeyUse }: RelayOptions,
): Promise<Relay> {
  const scope = new HostAllowList(hosts, ceilings, isDenied)
  const sockets = new Set<Socket>()
  const connector = checkedConnector({ scope, lookup, ca: undefined, timeoutMs: CONNECT_MS, sockets })
  const refused = new Set<string>()
  let keys: KeyEnds | undefined

  const connect = (target: Target, protocol: 'http:' | 'https:'): Promise<Socket> => new Promise((resolve, reject) => {
    const address = { hostname: target.host, host: target.host, port: String(target.port), protocol }
    connector(address, (error, upstream) => {
      if (error !== null) return reject(error)
      upstream.setTimeout(IDLE_MS, () => upstream.destroy())
      resolve(upstream)
    })
  })
  /** The status for the client. Only a refused host is reported. */
  const statusOf = (error: unknown, what: string): 403 | 502 => {
    const isRefused = BulkheadError.is(error) && (error.code === 'CapabilityDenied' || error.code === 'InputInvalid')
    if (isRefused && !refused.has(what) && refused.size < MOST_REPORTS) {
      refused.add(what)
      onRefused(what)
    }
    return isRefused ? 403 : 502
  }

  const server = http().createServer((request, response) => {
    void forward(request, response, scope, connect, keys?.ring).catch((error: unknown) => {
      if (response.headersSent) return void response.destroy()
      response.writeHead(statusOf(error, hostOf(request.url)), { connection: 'close' }).end()
    })
  })
  server.maxConnections = MOST_CONNECTIONS
  const tunnel = async (request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> => {
    const target = checkUrl(`http://${request.url}`, scope)
    const end = keys?.endFor(target)
    const upstream = end ?? await connect(target, 'http:')
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    if ('accept' in upstream) {
      if (head.length > 0) client.unshift(head)
      return upstream.accept(client)
    }
    upstream.write(head)
    pipeline(client, upstream, client, () => undefined)
  }
  server.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on('error', () => undefined)
    tunnel(request, client, head).catch((error: unknown) => {
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
    if (grants.length > 0) {
      keys = await (await loadKeyCode()).openKeyEnds({
        grants, scope, folder, report: (line) => onKeyFault?.(line), onUse: (use) => onKeyUse?.(use),
        connect: (target) => connect(target, 'https:'),
      })
    }
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
    variables: (inside) => keys?.variables(inside) ?? {},
    async close() {
      keys?.close()
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()))
      for (const one of sockets) one.destroy()
      await closed
      await remove()
    },
  }
}

/** For a report. The text comes from the process. */
const hostOf = (url = ''): string => (URL.parse(url)?.host ?? 'an unreadable address').slice(0, 253)

async function forward(
  request: IncomingMessage, response: ServerResponse, scope: HostAllowList,
  connect: (target: Target, protocol: 'http:') => Promise<Socket>, keys: KeyRing | undefined,
): Promise<void> {
  const target = checkUrl(request.url ?? '', scope)
  if (target.url.protocol !== 'http:') throw new BulkheadError('InputInvalid', 'Use CONNECT for https.')
  const { method = 'GET' } = request
  const headers = passedHeaders(request)
  const upstream = await connect(target, 'http:')
  // Nothing is replaced over http, but a placeholder is reported.
  keys?.insertInto({ target, method, headers })
  if (keys) request.on('data', keys.watchBody({ target, method }))
  const outgoing = http().request({
    method, path: `${target.url.pathname}${target.url.search}`, setHost: false,
    // Node ignores it if there is an agent, and would connect to another address.
    createConnection: () => upstream,
    headers: { ...headers, host: target.url.host, connection: 'close' },
  })
  await new Promise<void>((resolve, reject) => {
    outgoing.on('error', reject)
    outgoing.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, passedHeaders(answer))
      pipeline(answer, response, () => resolve())
    })
    pipeline(request, outgoing, (error) => { if (error) reject(error) })
  })
}
