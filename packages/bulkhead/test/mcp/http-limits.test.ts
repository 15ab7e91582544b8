import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { MCP_HTTP_LIMITS } from '@bulkhead/contract'
import type { HttpServing } from '@bulkhead/bridges/mcp'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { HttpWorld, inSession, PLAIN, send, sessionOf, TOKENS } from './http-world.ts'

const { connections, connectionsWithoutToken, connectionsPerAddress, connectionsPerToken, bodyBytes } = MCP_HTTP_LIMITS
const WAIT = { timeout: 20_000, interval: 10 }

let world: HttpWorld
/** Connections that send no header, or a part of one. They wait while the other tests run. */
let late: Promise<readonly void[]>
const ending: (() => unknown)[] = []
beforeAll(async () => {
  world = await new HttpWorld().open()
  const pem = (name: string) =>
    readFileSync(join(import.meta.dirname, '../../../broker/test/net/fixtures', `${name}.pem`))
  const servings = [await world.serve(), await world.serve({ tls: { cert: pem('certificate'), key: pem('key') } })]
  ending.push(...world.ending.splice(0))
  const sockets = await Promise.all(servings.flatMap(({ serving }) => [opened(serving), opened(serving)]))
  sockets[1]!.write('POST /mcp HTTP/1.1\r\nHost: localhost\r\n')
  late = Promise.all(sockets.map(ended))
  silent.length = 0
})
afterEach(() => world.endAll())
afterAll(async () => {
  for (const end of ending) await end()
  await world.close()
})

const silent: Socket[] = []
afterEach(() => {
  for (const socket of silent.splice(0)) socket.destroy()
})

const opened = async ({ url }: HttpServing, localAddress = '127.0.0.1'): Promise<Socket> => {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress })
  silent.push(socket)
  socket.on('error', () => {}).resume()
  await Promise.race([once(socket, 'connect'), once(socket, 'close')])
  return socket
}
/** `once` would reject, because a client may see the end as an error. */
const ended = (socket: Socket) => new Promise<void>((resolve) => {
  if (socket.closed) resolve()
  else socket.once('close', resolve)
})
const open = () => silent.filter(({ closed, readableEnded }) => !closed && !readableEnded)
/** Opens connections that send nothing, in turn from the addresses. */
async function openSilently(serving: HttpServing, count: number, addresses = ['127.0.0.1']): Promise<void> {
  for (let at = 0; at < count; at += 1) await opened(serving, addresses[at % addresses.length])
}
const statusOf = async (serving: HttpServing, token = TOKENS[0]!) => (await sessionOf(serving, token)).status

describe('connections without a token', () => {
  it('are bounded for one address: the oldest one leaves, and a client with a token is served', async () => {
    const { serving } = await world.serve()
    await openSilently(serving, connections)
    await vi.waitFor(() => expect(open()).toHaveLength(connectionsPerAddress), WAIT)
    expect(open()).toEqual(silent.slice(-connectionsPerAddress))
    expect(await statusOf(serving)).toBe(200)
  })

  // Only Linux has all addresses of 127.0.0.0/8.
  it('leave a quarter to clients with a token, even if they have many addresses', needs('Linux'), async () => {
    const { serving } = await world.serve()
    await openSilently(serving, connections, Array.from({ length: 16 }, (_, at) => `127.0.0.${at + 2}`))
    await vi.waitFor(() => expect(open()).toHaveLength(connectionsWithoutToken), WAIT)
    expect(open()).toEqual(silent.slice(-connectionsWithoutToken))
    expect(connectionsWithoutToken).toBe(connections * 3 / 4)
    expect(await statusOf(serving)).toBe(200)
  })

  it('end with the refusal of their request', async () => {
    const { serving } = await world.serve()
    const socket = await opened(serving)
    socket.write('GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n')
    await ended(socket)
  })
})

const LISTEN = {
  jsonrpc: '2.0', id: 1, method: 'subscriptions/listen',
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {},
    },
    notifications: { toolsListChanged: true },
  },
}
const MODERN = { 'mcp-method': 'subscriptions/listen', 'mcp-protocol-version': '2026-07-28' }

/** Opens a stream of the newer era, on a connection of its own. */
const listen = async ({ url }: HttpServing, token = TOKENS[0]) => {
  const req = request(url, {
    method: 'POST', agent: false, headers: { ...PLAIN, ...MODERN, Authorization: `Bearer ${token}` },
  })
  req.on('error', () => {}).end(JSON.stringify(LISTEN))
  const [res] = await once(req, 'response') as [IncomingMessage]
  world.ending.push(() => req.destroy())
  res.resume()
  return res.statusCode
}

it('a connection is refused while all are in use', LONG, async () => {
  const tokens = Array.from({ length: 5 }, (_, at) => `token-number-${at}-of-five`)
  const { serving } = await world.serve({ tokens, maxOpen: 1_000 })
  const streams = Array.from({ length: connections }, (_, at) =>
    listen(serving, tokens[Math.floor(at / connectionsPerToken)]),
  )
  expect(new Set(await Promise.all(streams))).toEqual(new Set([200]))
  await expect(sessionOf(serving, tokens[4])).rejects.toThrow(/socket hang up|ECONNRESET/)
  await world.ending.pop()!()
  await vi.waitFor(async () => expect(await statusOf(serving, tokens[4])).toBe(200), WAIT)
})

describe('one token', () => {
  it('leaves connections to other tokens, even with 600 streams', LONG, async () => {
    const { serving } = await world.serve({ maxOpen: 1_000 })
    const statuses = await Promise.all(Array.from({ length: 600 }, () => listen(serving)))
    const count = (status: number) => statuses.filter((one) => one === status).length
    expect([count(200), count(503)]).toEqual([connectionsPerToken, 600 - connectionsPerToken])
    expect([await statusOf(serving, TOKENS[1]), await listen(serving, TOKENS[1])]).toEqual([200, 200])
  })

  it('gets another connection if it has as many idle ones as it may have', async () => {
    const { serving } = await world.serve()
    const hello = `GET /none HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKENS[0]}\r\n\r\n`
    for (let at = 0; at < connectionsPerToken; at += 1) {
      const socket = await opened(serving)
      socket.write(hello)
      await once(socket, 'data')
    }
    expect(await statusOf(serving)).toBe(200)
  })

  it('leaves sessions to other tokens if all of its own are in use', async () => {
    const { serving } = await world.serve({ maxSessions: 2 })
    const { url } = serving
    const sessions = [await sessionOf(serving), await sessionOf(serving)]
    const streams = await Promise.all(
      sessions.map(({ id }) => fetch(url, { headers: { ...PLAIN, 'Mcp-Session-Id': id } })),
    )
    expect([await statusOf(serving), await statusOf(serving, TOKENS[1])]).toEqual([503, 200])
    await Promise.all(streams.map(({ body }) => body?.cancel()))
  })
})

it('a session is not replaced before its first call', async () => {
  const { serving } = await world.serve({ maxSessions: 2 })
  const call = async (id: string) =>
    (await inSession(serving, id, { method: 'tools/call', params: { name: 'count', arguments: {} } })).status
  const [fresh, used] = [await sessionOf(serving), await sessionOf(serving)]
  expect(await statusOf(serving)).toBe(503)
  expect(await call(used.id)).toBe(200)
  const next = await sessionOf(serving)
  expect([await call(used.id), await call(fresh.id), await call(next.id)]).toEqual([404, 200, 200])
})

describe('a body', () => {
  const HEAD = 'POST /mcp HTTP/1.1\r\nHost: localhost\r\n'
    + 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n'
  const CHUNK = `10000\r\n${' '.repeat(0x10000)}\r\n`

  /** Sends chunks without end. Resolves with the status when the server has closed the connection. */
  async function sendEndlessly(serving: HttpServing, headers: string) {
    const socket = await opened(serving)
    let answer = ''
    socket.setEncoding('latin1').on('data', (part: string) => { answer += part })
    socket.write(`${HEAD}${headers}\r\n`)
    const more = () => {
      while (socket.writable && socket.write(CHUNK));
    }
    socket.on('drain', more)
    more()
    await ended(socket)
    expect(socket.bytesWritten).toBeLessThan(200_000_000)
    return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])
  }

  it('is answered with 413 if it is too long, and not read to its end', async () => {
    const { serving } = await world.serve()
    const { status, text } = await send(serving, {
      headers: { 'Transfer-Encoding': 'chunked' }, body: ' '.repeat(3 * bodyBytes),
    })
    expect([status, text]).toEqual([413, expect.stringContaining(`longer than ${bodyBytes} bytes`)])
    expect(await sendEndlessly(serving, `Authorization: Bearer ${TOKENS[0]}\r\n`)).toBe(413)
  })

  it('is answered with 401 without a token, and not read to its end', LONG, async () => {
    const { serving } = await world.serve()
    expect(await send(serving, { headers: { Authorization: '' }, body: ' '.repeat(bodyBytes) })).toMatchObject({
      status: 401,
    })
    expect(await sendEndlessly(serving, '')).toBe(401)
  })
})

it('a connection ends when its header, or its handshake, has not arrived in time', async () => {
  await late
}, 4 * MCP_HTTP_LIMITS.headersMs)
