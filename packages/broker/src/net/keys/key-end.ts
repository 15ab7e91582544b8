import { request as httpRequest, ServerResponse, type IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import type { Socket } from 'node:net'
import { pipeline, type Duplex } from 'node:stream'
import { checkUrl, type HostAllowList, type Target } from '../../hosts/url-policy.ts'
import { IDLE_MS } from '../connect.ts'
import { passedHeaders } from '../http-headers.ts'
import { netError } from '../response.ts'
import type { DecoderMemory } from '../response-body.ts'
import type { Authority } from './authority.ts'
import { answer, refuse } from './key-answer.ts'
import type { KeyRing } from './key-ring.ts'
import { redactFrames } from './websocket-frames.ts'

export interface KeyEndOptions {
  /** One of the hosts of the keys, with its port. */
  readonly host: string
  readonly scope: HostAllowList
  readonly keys: KeyRing
  readonly authority: Authority
  /** Connects over TLS, with the usual checks of address and certificate. */
  readonly connect: (target: Target) => Promise<Socket>
  /** For bodies that are compressed although that was not asked for. */
  readonly decoders: DecoderMemory
  /** Gets a line for a connection that cannot work. Must not throw. */
  readonly report: (line: string) => void
}

/** The end of TLS for one host. It has its name inside the jail only. */
export interface KeyEnd {
  /** Takes over a connection on which the client begins TLS. */
  accept(client: Duplex): void
  close(): void
}

/** The connection sets them, or this end answers them. */
const SET_HERE = ['accept-encoding', 'expect', 'http2-settings']
/** How clients end a connection to a host that they do not trust. Node sends no alert. */
const REFUSED = /^ECONNRESET$|UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN/
const untrusted = (host: string): string =>
  `A client closed its connection to ${host} before a request. It may not trust the authority of this start, which `
  + 'NODE_EXTRA_CA_CERTS, SSL_CERT_FILE and similar variables name; a client with pinned certificates does not.'
const INSTEAD = 'For such a client, name the variable in "env": then the process gets the key itself.'

/**
 * Reads the requests to one host and sends them again, each over its own connection: what the client writes reaches the
 * host only as a parsed request. HTTP/1.1 only; clients learn that while TLS begins.
 */
export function openKeyEnd(options: KeyEndOptions): KeyEnd {
  const { host, authority, report } = options
  const [name = ''] = host.split(':')
  const used = new WeakSet<Duplex>()
  const failed = (response: ServerResponse) => (error: unknown) =>
    refuse(response, 502, netError(error, name).message)
  const server = createServer({
    ALPNCallback({ protocols }) {
      if (protocols.includes('http/1.1')) return 'http/1.1'
      const spoken = protocols.join(' and ').slice(0, 64)
      report(`A client speaks ${spoken} to ${host} only, and a key needs HTTP/1.1. ${INSTEAD}`)
      return undefined
    },
    SNICallback(asked, done) {
      if (asked === name) done(null, authority.identityOf(name))
      else done(new Error(`The name of the host is not ${name}.`))
    },
    // Other protocols stay HTTP/1.1.
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
    // A long upload is not an attack: connections are limited, and a silent one ends.
    requestTimeout: 0,
  })
  server.setTimeout(IDLE_MS)
  let isClosed = false
  server.on('secureConnection', (socket) => {
    socket.once('close', () => { if (!isClosed && !used.has(socket)) report(`${untrusted(host)} ${INSTEAD}`) })
  })
  server.on('tlsClientError', ({ code }: NodeJS.ErrnoException) => {
    if (!isClosed && REFUSED.test(code ?? '')) report(`${untrusted(host)} ${INSTEAD}`)
  })
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    if (code?.startsWith('HPE_')) used.add(socket)
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n')
    else socket.destroy()
  })
  server.on('request', (request, response) => {
    used.add(request.socket)
    void forward(request, response, options).catch(failed(response))
  })
  server.on('upgrade', (request, client, head) => {
    used.add(client)
    client.on('error', () => undefined)
    const response = new ServerResponse(request)
    response.assignSocket(client as Socket)
    response.shouldKeepAlive = false
    response.once('finish', () => client.end())
    void forward(request, response, options, { client, head }).catch(failed(response))
  })
  return {
    accept(client) {
      // A client that has gone would leave its connection open.
      client.allowHalfOpen = false
      server.emit('connection', client)
    },
    close() {
      isClosed = true
      server.close()
    },
  }
}

interface Upgrade {
  readonly client: Duplex
  /** What the client has sent after its request. */
  readonly head: Buffer
}

/** Resolves when the response has begun. */
async function forward(
  request: IncomingMessage, response: ServerResponse, { host, scope, keys, connect, decoders }: KeyEndOptions,
  upgrade?: Upgrade,
): Promise<void> {
  const { method = 'GET', url = '', headersDistinct: { host: named = [] } } = request
  const [name = '', port = ''] = host.split(':')
  const isHost = named.length === 1 && [host, ...port === '443' ? [name] : []].includes(named[0]!.toLowerCase())
  if (!isHost || !url.startsWith('/')) return refuse(response, 400, `This connection is for requests to ${host} only.`)
  const target = checkUrl(`https://${host}${url}`, scope)
  const given = passedHeaders(request)
  for (const header of SET_HERE) delete given[header]
  // The answer to a websocket cannot be searched if it is compressed.
  if (upgrade) delete given['sec-websocket-extensions']
  const headers = keys.insertInto({ target, method, headers: given })
  const upstream = await connect(target)
  const outgoing = httpRequest({
    method, path: `${target.url.pathname}${target.url.search}`, setHost: false, createConnection: () => upstream,
    headers: {
      ...headers as Record<string, string[]>, 'host': target.url.host, 'accept-encoding': 'identity',
      ...(upgrade ? { connection: 'upgrade', upgrade: 'websocket' } : { connection: 'close' }),
      // Without it, Node would send the body of some methods without an end.
      ...(request.headers['transfer-encoding'] !== undefined && { 'transfer-encoding': 'chunked' }),
    },
  })
  response.once('close', () => outgoing.destroy())
  await new Promise<void>((resolve, reject) => {
    outgoing.on('error', reject)
    outgoing.once('response', (incoming) => {
      void answer(incoming, response, { method, redaction: keys.redactionOf(target), decoders })
      resolve()
    })
    outgoing.once('upgrade', (incoming, socket, head) => {
      if (upgrade === undefined || incoming.headers['sec-websocket-extensions'] !== undefined) {
        socket.destroy()
        return reject(new Error('The host switched to another protocol than asked for.'))
      }
      connectFrames(upgrade, { incoming, socket, head }, response, keys, target)
      resolve()
    })
    if (upgrade) return void outgoing.end()
    const watch = keys.watchBody({ target, method })
    request.on('data', watch)
    pipeline(request, outgoing, (error) => { if (error) reject(error) })
  })
}

interface Switched {
  readonly incoming: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
}

function connectFrames(
  { client, head }: Upgrade, { incoming, socket, head: first }: Switched, response: ServerResponse, keys: KeyRing,
  target: Target,
): void {
  const redaction = keys.redactionOf(target)!
  const lines = Object.entries(passedHeaders(incoming)).flatMap(([name, values]) =>
    values.map((value) => `${name}: ${redaction.text(value)}`))
  response.detachSocket(client as Socket)
  const head101 = ['HTTP/1.1 101 Switching Protocols', 'connection: upgrade', 'upgrade: websocket', ...lines]
  client.write(`${head101.join('\r\n')}\r\n\r\n`)
  socket.unshift(first)
  socket.write(head)
  const ended = (): void => {
    client.destroy()
    socket.destroy()
  }
  pipeline(client, socket, ended)
  pipeline(socket, (frames: AsyncIterable<Buffer>) => redactFrames(frames, redaction), client, ended)
}
