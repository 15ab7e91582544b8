import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Json } from '@bulkhead/kit/json'
import { afterEach, expect, it } from 'vitest'
import { forward } from '../../../src/mcp/serving/forward.ts'
import { HttpClient } from '../../../src/mcp/serving/http-client.ts'
import { Replicas } from '../../../src/mcp/serving/replicas.ts'
import type { ReplicaRecords } from '../../../src/mcp/serving/served-session.ts'

const closing: (() => unknown)[] = []
afterEach(() => closing.splice(0).forEach((close) => close()))

/** Another replica, which does this with each request. */
async function peer(answer: (req: IncomingMessage, res: ServerResponse, count: number) => void) {
  let count = 0
  const server = createServer((req, res) => void req.resume().on('end', () => answer(req, res, ++count)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => { server.closeAllConnections(); server.close() })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, count: () => count }
}

function recordsFor(stored: Map<string, Json>, id: string, gone: ReadonlySet<string>): ReplicaRecords {
  return {
    owner: { id, isGone: (other) => gone.has(other) },
    read: async (key) => stored.get(key),
    async update(key, change) {
      const next = change(stored.get(key))
      if (next === undefined) stored.delete(key)
      else stored.set(key, next)
      return next
    },
  }
}

const CLIENT = { key: 'token one', name: 'one' }
const body = (method: string) => ({ jsonrpc: '2.0', id: 5, method, params: {} })

async function world(url: string) {
  const [stored, gone] = [new Map<string, Json>(), new Set<string>()]
  const other = new Replicas(recordsFor(stored, 'other', gone))
  other.self = { url }
  await other.enter('client', CLIENT, { session: 's' })
  const here = new Replicas(recordsFor(stored, 'here', gone))
  here.self = { url: 'http://127.0.0.1:1/mcp' }
  const serve = async (method: string, headers: Record<string, string> = {}, client = CLIENT) => {
    let text = ''
    await here.serve({
      request: new Request('http://localhost/mcp', { method: 'POST', headers }), body: body(method), client,
      send: async (response) => { text = await response.text() },
    }, { name: 'client', opens: false, open: async ({ session }) => {
      text = `continued ${session}`
      return { exchange: async () => undefined } as never
    } })
    return text
  }
  return { serve, gone, stored }
}

it('sends a request to the replica that has its session, with its token, and only once', async () => {
  const { url } = await peer((req, res) =>
    res.end(JSON.stringify([req.headers.authorization, req.headers['bulkhead-forwarded']])))
  const { serve, stored } = await world(url)
  expect(await serve('tools/call', { Authorization: 'Bearer x' })).toBe('["Bearer x","1"]')
  await expect(serve('tools/call', { 'Bulkhead-Forwarded': '1' })).rejects.toMatchObject({ status: 421 })
  await expect(serve('tools/call', {}, { key: 'token two', name: 'two' })).rejects.toMatchObject({ status: 404 })
  expect(JSON.stringify([...stored])).not.toContain('token one')
})

it('does not make a call again that was sent to a replica that ended', async () => {
  const ended: { gone?: Set<string> } = {}
  const other = await peer((req, res) => {
    ended.gone!.add('other')
    req.socket.destroy()
    res.destroy()
  })
  const { serve, gone } = await world(other.url)
  ended.gone = gone
  expect(JSON.parse(await serve('tools/call'))).toMatchObject({ id: 5, error: { code: -32_603 } })
  expect(other.count()).toBe(1)
  expect(await serve('tools/call')).toBe('continued s')
})

it('continues what changes nothing, and asks again in a replica that was busy ending', async () => {
  const ended: { gone?: Set<string> } = {}
  const other = await peer((req, res, count) => {
    if (count === 1) return void res.writeHead(421).end()
    ended.gone!.add('other')
    return req.socket.destroy()
  })
  const { serve, gone } = await world(other.url)
  ended.gone = gone
  expect(await serve('tools/list')).toBe('continued s')
  expect(other.count()).toBe(2)
})

it('answers the end of a session when no other replica can find it any more', async () => {
  const order: string[] = []
  const served = { end: async () => undefined, calls: { size: 0 } }
  const client: HttpClient = new HttpClient('key', served as never, {
    async handle() {
      void client.end()
      return new Response()
    },
    close: async () => undefined,
    async left() {
      await pause(20)
      order.push('removed')
    },
  }, {} as never, () => undefined)
  const request = new Request('http://localhost/mcp', { method: 'DELETE' })
  await client.exchange(request, undefined, async () => void order.push('answered'))
  expect(order).toEqual(['removed', 'answered'])
})

it('sends a token over TLS to the certificate of the replica only', async () => {
  const pem = (name: string) =>
    readFileSync(join(import.meta.dirname, '../../../../broker/test/net/fixtures', `${name}.pem`), 'utf8')
  let tokens = 0
  const server = createHttpsServer({ cert: pem('certificate'), key: pem('key') }, (req, res) => {
    tokens += req.headers.authorization === undefined ? 0 : 1
    res.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => { server.closeAllConnections(); server.close() })
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const request = new Request('http://localhost/mcp', { method: 'POST', headers: { Authorization: 'Bearer x' } })
  const send = (cert: string) => forward({ url, cert }, request, body('tools/list'), () => false)
  expect((await send(pem('certificate'))).status).toBe(200)
  await expect(send(OTHER)).rejects.toMatchObject({ name: 'LostReplica' })
  expect(tokens).toBe(1)
})

/** Of no replica. */
const OTHER = `-----BEGIN CERTIFICATE-----
MIIBdjCCAR2gAwIBAgIUd415JqxoFtBy77fKN35y9QgZbbYwCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFb3RoZXIwIBcNMjYxMTE5MDI0MDUyWhgPMjEyNjEwMjYwMjQw
NTJaMBAxDjAMBgNVBAMMBW90aGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
o3duoHJgpWH+GsDUgmD0583gCqzaGRjZMLJx9+Tpo71tMDhqNfMLP3PwxMk6w44c
jg+HUh4jwmlv91Tg/CdvrqNTMFEwHQYDVR0OBBYEFOOfyp5ySMWTTp+mkzuegP97
YmO+MB8GA1UdIwQYMBaAFOOfyp5ySMWTTp+mkzuegP97YmO+MA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgfwu5luwC+tRB8unfb/0q9rHLudDIn789
2N5xqt0QvrICID+n4gAhbMRq7qliIfO37zISwxw45d4VIAskzfWG/Vek
-----END CERTIFICATE-----
`
