import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Json } from '@bulkhead/kit/json'
import { afterEach, expect, it } from 'vitest'
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
