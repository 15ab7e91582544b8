import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HttpServing } from '@bulkhead/bridges/mcp'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { inside } from '../command-inside.ts'
import { writeExtension } from '../extension-folder.ts'
import { HttpWorld, inSession, modern, PLAIN, send, sessionOf, TOKENS, type Raw } from './http-world.ts'
import { clientOf, ERAS, type Era, type Person } from './served-world.ts'

let world: HttpWorld
let folder: string
beforeAll(async () => {
  world = await new HttpWorld().open()
  ;({ folder } = world)
})
afterEach(() => world.endAll())
afterAll(() => world.close())

const serve: HttpWorld['serve'] = (options) => world.serve(options)

async function connect(
  { url, tokens }: Pick<HttpServing, 'url' | 'tokens'>, era: Era, person?: Person, token = tokens[0],
) {
  const client = clientOf(era, person)
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
  })
  await client.connect(transport)
  world.ending.push(() => client.close())
  return { client, transport }
}

describe.each(ERAS)('a client of the %s era over HTTP', (era) => {
  it('lists and calls tools in one session, with questions and progress, and learns of changes', async () => {
    const { serving, open } = await serve({ session: { mode: 'yolo' } })
    const { client } = await connect(serving, era, () => ({ action: 'accept', content: { answer: 'Ada' } }))
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['count', 'greet', 'read']))
    const seen: unknown[] = []
    await client.callTool({ name: 'count', arguments: {} }, { onprogress: (progress) => void seen.push(progress) })
    expect(seen).toEqual([{ progress: 1, message: 'one' }])
    const { content } = await client.callTool({ name: 'greet', arguments: {} })
    expect(content).toMatchObject([{ type: 'text', text: expect.stringContaining('Hello Ada') as string }])
    expect(open.size).toBe(1)

    const changed = vi.fn<() => void>()
    client.setNotificationHandler('notifications/tools/list_changed', changed)
    if (era === 'modern') await client.listen({ toolsListChanged: true })
    writeExtension(join(folder, 'home'), { id: `late-${era}`, tools: [{ name: `late_${era}` }] }, 'export default {}')
    await world.host.reload()
    await expect.poll(() => changed).toHaveBeenCalledOnce()
  })

  it('cancels a call with its request, and the others with the server', async () => {
    const { serving, open } = await serve()
    const { client } = await connect(serving, era)
    const cancel = new AbortController()
    let started = 0
    world.ending.push(world.host.on(() => void (started += 1), ['ToolInvocationStarted']))
    const one = client.callTool({ name: 'wait', arguments: {} }, { signal: cancel.signal })
    const other = client.callTool({ name: 'wait', arguments: {} }).then(({ isError }) => isError, () => 'disconnected')
    await expect.poll(() => started).toBe(2)
    cancel.abort()
    await expect(one).rejects.toThrow('abort')
    await serving.close()
    expect(await other).toBe(true)
    expect(open.size).toBe(0)
  })
})

it.each<[why: string, status: number, raw: Raw]>([
  ['without a token', 401, { headers: { Authorization: '' } }],
  ['with a wrong token', 401, { headers: { Authorization: 'Bearer first-token-of-twx' } }],
  ['with a token of another scheme', 401, { headers: { Authorization: `Basic ${TOKENS[0]}` } }],
  ['under a foreign name', 403, { headers: { Host: 'evil.example' } }],
  ['under a foreign address', 403, { headers: { Host: '203.0.113.7:80' } }],
  ['from a web page', 403, { headers: { Origin: 'https://evil.example' } }],
  ['from a page without an origin', 403, { headers: { Origin: 'null' } }],
  ['at another path', 404, { path: '/' }],
  [
    'in an unknown session', 404,
    { headers: { 'Mcp-Session-Id': 'x' }, body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
  ],
  ['before a session', 400, { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }],
  ['with a body that is not JSON', 400, { body: '{' }],
  ['with a body that is too long', 413, { body: ' '.repeat(10_000_001) }],
  ['with a body of another type', 415, { headers: { 'Content-Type': 'text/plain' } }],
  ['by GET without a session', 405, { method: 'GET' }],
  ['by PUT', 405, { method: 'PUT' }],
])('refuses a request %s: %s', async (_why, status, raw) => {
  const { serving, open } = await serve()
  const response = await send(serving, raw)
  expect([response.status, open.size]).toEqual([status, 0])
  expect(JSON.parse(response.text)).toMatchObject({
    jsonrpc: '2.0', id: null, error: { message: expect.any(String) as string },
  })
  expect(response.headers['www-authenticate']).toBe(status === 401 ? 'Bearer realm="bulkhead"' : undefined)
})

describe('a session of the older era', () => {
  const list = async (serving: HttpServing, id: string, token?: string) =>
    (await inSession(serving, id, { method: 'tools/list' }, token)).status

  it('belongs to its token, and ends with DELETE', async () => {
    const { serving, open } = await serve()
    const { id } = await sessionOf(serving)
    expect([await list(serving, id), await list(serving, id, TOKENS[1])]).toEqual([200, 404])
    const remove = (token: string) =>
      send(serving, { method: 'DELETE', headers: { 'Authorization': `Bearer ${token}`, 'Mcp-Session-Id': id } })
    expect([(await remove(TOKENS[1]!)).status, open.size, (await remove(TOKENS[0]!)).status]).toEqual([404, 1, 200])
    await expect.poll(() => open.size).toBe(0)
    expect(await list(serving, id)).toBe(404)
  })

  it('ends when it is idle, and not while a call runs', async () => {
    const { serving, open } = await serve({ idleMs: 1_000 })
    const { client } = await connect(serving, 'legacy')
    const call = client.callTool({ name: 'wait', arguments: {} }).catch(() => undefined)
    const { id } = await sessionOf(serving)
    await expect.poll(() => open.size).toBe(1)
    expect(await list(serving, id)).toBe(404)
    await serving.close()
    await call
  })

  it('makes room when the number of sessions is reached, and refuses another one while all are in use', async () => {
    const { serving, open } = await serve({ maxSessions: 2 })
    const [first, second] = [await sessionOf(serving), await sessionOf(serving)]
    const { status } = await inSession(serving, first.id, {
      method: 'tools/call', params: { name: 'count', arguments: {} },
    })
    expect(status).toBe(200)
    const third = await sessionOf(serving)
    expect([open.size, await list(serving, first.id), await list(serving, third.id)]).toEqual([2, 404, 200])
    const streams = await Promise.all(
      [second, third].map(({ id }) => fetch(serving.url, { headers: { ...PLAIN, 'Mcp-Session-Id': id } })),
    )
    expect((await sessionOf(serving)).status).toBe(503)
    await Promise.all(streams.map(({ body }) => body?.cancel()))
  })

  it('has a bounded number of open requests', async () => {
    const { serving } = await serve({ maxOpen: 1 })
    const { id } = await sessionOf(serving)
    const stream = await fetch(serving.url, { headers: { ...PLAIN, 'Mcp-Session-Id': id } })
    expect([stream.status, await list(serving, id)]).toEqual([200, 503])
    await stream.body?.cancel()
    await expect.poll(() => list(serving, id)).toBe(200)
  })
})

it('answers 400 to a client of the newer era that lacks a capability which its call needs', async () => {
  const { serving } = await serve()
  const call = (clientCapabilities: object) =>
    send(serving, modern('tools/call', { name: 'greet', arguments: {} }, clientCapabilities))
  const refused = await call({ elicitation: { url: {} } })
  expect(refused.status).toBe(400)
  const lacks = { code: -32021, data: { requiredCapabilities: { elicitation: { form: {} } } } }
  expect(JSON.parse(refused.text)).toMatchObject({ id: 1, error: lacks })
  const asked = await call({ elicitation: {} })
  expect(asked.status).toBe(200)
  expect(JSON.parse(asked.text)).toMatchObject({ result: { resultType: 'input_required' } })
})

it('gives each token of the newer era its own session', async () => {
  const { serving, open } = await serve()
  await Promise.all([TOKENS[0], TOKENS[1], TOKENS[0]].map(async (token) => {
    const { client } = await connect(serving, 'modern', undefined, token)
    await client.listTools()
  }))
  expect(open.size).toBe(2)
})

it('listens beyond this machine only with a certificate, or if the caller insists', async () => {
  await expect(serve({ host: '0.0.0.0' })).rejects.toThrow('requires `tls` or `insecure`')
  await expect(serve({ tokens: ['short'] })).rejects.toThrow('16 or more characters')
  const statuses = async ({ serving }: Awaited<ReturnType<typeof serve>>, tries: readonly Record<string, string>[]) =>
    Promise.all(tries.map(async (headers) =>
      (await send({ ...serving, url: serving.url.replace('0.0.0.0', '127.0.0.1') }, { headers })).status))
  const byAddress = [{ Host: '203.0.113.7:80' }, { Host: 'secure.test' }, { Origin: 'http://203.0.113.7' }]
  expect(await statuses(await serve({ host: '0.0.0.0', insecure: true }), byAddress)).toEqual([200, 403, 403])
  const pem = (name: string) =>
    readFileSync(join(import.meta.dirname, '../../../broker/test/net/fixtures', `${name}.pem`))
  const secure = await serve({ host: '0.0.0.0', tls: { cert: pem('certificate'), key: pem('key') } })
  expect(secure.serving.url).toMatch(/^https:/)
  const byName = [
    ...byAddress, { Host: 'evil.example' }, { Origin: 'https://secure.test' }, { Origin: 'https://evil.example' },
  ]
  expect(await statuses(secure, byName)).toEqual([200, 200, 403, 403, 200, 403])
})

// mcp-command.test.ts starts the command.
describe('bulkhead mcp --http', () => {
  const places = () => ['--workspace', join(folder, 'work'), '--home', join(folder, 'own')]

  it.each([
    [['--port', '1'], '--port requires --http.'],
    [['--insecure'], '--insecure requires --http.'],
    [['--http', '--port', '70000'], '--port must be a whole number from 0 to 65535, not "70000".'],
    [['--http', '--cert', 'x'], 'Use --cert and --key together.'],
    [['--http', '--cert', 'none.pem', '--key', 'none.pem'], 'none.pem cannot be read'],
    [
      ['--http', '--port', '0', '--host', '0.0.0.0'],
      'Other machines can reach 0.0.0.0. Add --cert and --key, or --insecure.',
    ],
    [
      ['--http', '--port', '0', '--host', '203.0.113.7', '--insecure'],
      '"203.0.113.7" is not an address of this machine.',
    ],
    [['--http', '--port', '0', '--cert', 'own/x.pem', '--key', 'own/x.pem'], '--cert and --key do not work'],
  ])('refuses %j', async (options, message) => {
    mkdirSync(join(folder, 'own'), { recursive: true })
    writeFileSync(join(folder, 'own/x.pem'), 'no certificate')
    const { code, stderr } = await inside(['mcp', ...options, ...places()], folder)
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  })
})
