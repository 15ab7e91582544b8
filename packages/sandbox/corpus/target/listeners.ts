import { randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { brotliCompressSync, constants } from 'node:zlib'

/** Its decoder needs the largest possible window. */
const PACKED = brotliCompressSync(
  randomBytes(200_000), { params: { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 1 } },
)
/** Long enough for a reader to receive the first piece separately. */
const SECOND_PIECE_MS = 50

/** Servers that record traffic of an attack that should not exist. */
export interface Listeners {
  readonly port: number
  readonly grantedPort: number
  readonly udpPort: number
  /** The other end of the host's own connection. It records bytes that an attack writes to its descriptor. */
  readonly heldPort: number
  received(): readonly string[]
  close(): Promise<void>
}

export async function listen(secret: string, socketPath: string): Promise<Listeners> {
  const received: string[] = []
  const open = new Set<Socket>()
  const track = (server: Server): Server => server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.on('error', () => undefined).on('close', () => open.delete(socket))
  })

  // Sends the secret in response to any protocol, so that an attack that connects has a result.
  const canary = track(createServer((socket) => {
    received.push('a connection to the canary port')
    socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${secret.length}\r\n\r\n${secret}`))
  }))
  const local = track(createServer(() => void received.push('a connection to the canary socket')))
  const held = track(createServer((socket) =>
    void socket.on('data', () => received.push('bytes on the socket of the host'))))
  const granted = track(createHttpServer(({ url = '/' }, response) => {
    const { port } = canary.address() as AddressInfo
    const targets = new Map([
      ['/to-address', `http://127.0.0.1:${port}/`],
      ['/to-decimal', `http://2130706433:${port}/`],
      ['/to-mapped', `http://[::ffff:127.0.0.1]:${port}/`],
      ['/to-name', `http://private.corpus.test:${port}/`],
      ['/to-metadata', 'http://169.254.169.254/latest/meta-data/'],
      ['/to-file', 'file:///etc/passwd'],
    ])
    if (url.startsWith('/guess/')) {
      response.write(url.slice('/guess/'.length))
      setTimeout(() => response.end('!'), SECOND_PIECE_MS)
      return
    }
    if (url === '/packed') {
      response.setHeader('content-encoding', 'br').end(PACKED)
      return
    }
    const location = targets.get(url)
    response.writeHead(location === undefined ? 200 : 302, location === undefined ? {} : { location }).end('granted')
  }))
  const datagrams = createSocket('udp4', () => void received.push('a datagram to the canary port'))

  for (const server of [canary, held, granted]) server.listen(0, '127.0.0.1')
  local.listen(socketPath)
  datagrams.bind(0, '127.0.0.1')
  await Promise.all([canary, held, granted, local, datagrams].map((listener) => once(listener, 'listening')))
  const portOf = (server: Server): number => (server.address() as AddressInfo).port
  return {
    port: portOf(canary),
    grantedPort: portOf(granted),
    udpPort: datagrams.address().port,
    heldPort: portOf(held),
    received: () => received.splice(0),
    async close() {
      for (const socket of open) socket.destroy()
      datagrams.close()
      await Promise.all([canary, held, granted, local].map((server) => new Promise((done) => server.close(done))))
    },
  }
}
