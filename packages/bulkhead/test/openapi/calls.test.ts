import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { openSqliteStore } from '../../src/index.ts'
import { caller, OpenapiFixture, namesOf, person, type Documents } from './fixture.ts'
import { openShop, shopDocument } from './shop.ts'
import { joined } from '../joined.ts'

let fixture: OpenapiFixture
beforeEach(async () => {
  fixture = await OpenapiFixture.create()
})
afterEach(() => fixture.remove())

it('offers each operation as a tool, asks before a call, and returns the parsed response', async () => {
  fixture.inHome(shopDocument())
  fixture.configure({ shop: { document: 'shop.json', baseUrl: `${fixture.shop.url}/v1/` } })
  const host = await fixture.open()
  expect(namesOf(host)).toEqual(['createOrder', 'deleteOrder', 'getOrder', 'listOrders'])
  expect(host.diagnostics).toEqual([])
  expect(host.tool('getOrder')).toMatchObject({
    executor: 'remote', gated: true, mode: 'external', layer: 'global', extension: 'openapi-shop',
    integrity: 'unpinned', server: { kind: 'openapi', name: 'shop', address: `${fixture.shop.url}/v1` },
    requires: { net: { hosts: [fixture.shop.url.slice('http://'.length)] } },
  })
  const { interactor, shown } = person()
  const call = await caller(host, { interactor })
  const outcome = await call('getOrder', { id: '7' })
  expect(outcome).toMatchObject({
    type: 'output',
    data: { status: 200, content_type: 'application/json', body: { method: 'GET', url: '/v1/orders/7' } },
    content: [
      { type: 'text', text: `GET ${fixture.shop.url}/v1/orders/7 → 200\n\n{"method":"GET","url":"/v1/orders/7"}` },
    ],
    details: { status: 200, method: 'GET', url: `${fixture.shop.url}/v1/orders/7` },
  })
  expect(shown).toMatchObject([
    {
      request: {
        approval: {
          origin: `OpenAPI document shop of the global configuration: GET ${fixture.shop.url}/v1/orders/{id}`,
        },
      },
    },
  ])
  await call('getOrder', { id: '8' })
  expect(shown).toHaveLength(1)
  expect(await call('createOrder', { body: { item: 'rope', note: null, parts: [{ item: 'thread' }] } })).toMatchObject({
    data: { status: 200 },
  })
  expect(fixture.shop.seen.at(-1)!).toMatchObject({
    method: 'POST', url: '/v1/orders', body: '{"item":"rope","note":null,"parts":[{"item":"thread"}]}',
    headers: { 'content-type': 'application/json' },
  })
  expect(await call('createOrder', { body: { parts: [{ note: 5 }] } })).toMatchObject({
    error: { code: 'InputInvalid' },
  })
  expect(fixture.shop.seen).toHaveLength(3)
})

it('sends its secret to the configured server only, and never shows it', async () => {
  fixture.inHome(shopDocument())
  const keyed: Documents[string] = {
    document: 'shop.json', baseUrl: fixture.shop.url, auth: { type: 'apiKey', header: 'X-Trace', secret: 'SHOP_KEY' },
  }
  fixture.configure({
    shop: keyed, other: { ...keyed, prefix: 'other', auth: { type: 'bearer', secret: 'SHOP_TOKEN' } },
  })
  const store = await openSqliteStore({ file: join(fixture.home, 'bulkhead.db') })
  const env = { SHOP_KEY: 'key-of-the-shop', SHOP_TOKEN: 'token-of-the-shop' }
  const host = await fixture.open({ env, store, config: { audit: { enabled: true, arguments: true } } })
  const events: unknown[] = []
  host.on((event) => void events.push(event))
  const call = await caller(host)
  fixture.answer = ({ headers }, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(headers))
  const keyedOutcome = await call('listOrders', { 'X-Trace': 'mine' })
  expect(fixture.shop.seen.at(-1)!.headers['x-trace']).toBe('key-of-the-shop')
  const borne = await call('other__listOrders')
  expect(fixture.shop.seen.at(-1)!.headers.authorization).toBe('Bearer token-of-the-shop')
  fixture.answer = (_, response) =>
    response.writeHead(302, { location: 'http://elsewhere.example/?key=key-of-the-shop' }).end()
  const led = await call('listOrders')
  expect(led).toMatchObject({ type: 'error', error: { code: 'CapabilityDenied' } })
  await host.flush()
  const all = JSON.stringify([keyedOutcome, borne, led, events, host.diagnostics, host.tools()])
  expect(all).toContain('[REDACTED]')
  const kept = globSync('bulkhead.db*', { cwd: fixture.home })
    .map((file) => readFileSync(join(fixture.home, file), 'latin1'))
    .join('')
  expect(kept).toContain('listOrders')
  expect(all + kept).not.toMatch(/(?:key|token)-of-the-shop/)
  fixture.configure({ shop: keyed })
  const without = await caller(await fixture.open())
  expect(await without('listOrders')).toMatchObject({ error: { code: 'EnvNameNotSet' } })
})

it('ignores servers that only the document names', async () => {
  // A thread reads each document.
  const some = ['http://169.254.169.254/latest', '/v1']
  const urls = thoroughly(some, [
    ...some, 'http://[::1]:8/', 'http://localhost:1234', 'http://2130706433/', 'file:///etc',
    'https://me:you@shop.example/', 'http://metadata/',
  ])
  const names = urls.map((_, index) => `shop-${index}`)
  for (const [index, url] of urls.entries())
    fixture.inHome(shopDocument({ servers: [{ url }] }), `${names[index]}.json`)
  fixture.configure(Object.fromEntries(names.map((name) => [name, { document: `${name}.json` }])))
  const host = await fixture.open()
  expect(namesOf(host)).toEqual([])
  expect(host.diagnostics.toSorted((one, other) => one.path.localeCompare(other.path))).toMatchObject(
    names.map((name) => ({
      severity: 'error', code: 'ConfigInvalid', path: `/openapi/${name}`, message: expect.stringContaining('"baseUrl"'),
    })),
  )
})

it('aborts the request at the deadline and on cancellation', async () => {
  fixture.inHome(shopDocument())
  fixture.configure({ shop: { document: 'shop.json', baseUrl: fixture.shop.url, timeoutMs: 300 } })
  const host = await fixture.open()
  const session = await host.openSession({ mode: 'yolo' })
  // The deadline covers the first start, and the request must be sent.
  await session.call({ id: 'warm', name: 'listOrders', arguments: {} }, { timeoutMs: 60_000 })
  const gone: Promise<unknown>[] = []
  const come = Promise.withResolvers<void>()
  fixture.answer = (_, response) => {
    gone.push(new Promise((resolve) => response.once('close', resolve)))
    if (gone.length === 2) come.resolve()
  }
  const call = await caller(host)
  expect(await call('listOrders')).toMatchObject({ error: { code: 'ExecutionTimeout' } })
  const stop = new AbortController()
  const cancelled = session.call(
    { id: 'c', name: 'listOrders', arguments: {} }, { signal: stop.signal, timeoutMs: 60_000 },
  )
  await come.promise
  stop.abort()
  expect(await cancelled).toMatchObject({ error: { code: 'ToolCancelled' } })
  await Promise.all(gone)
})

it('encodes forms as the document specifies, and omits operations with unsupported forms', async () => {
  const form = (operationId: string, encoding: object) => ({
    post: {
      operationId,
      requestBody: {
        required: true,
        content: {
          'application/x-www-form-urlencoded': {
            schema: {
              type: 'object',
              properties: {
                items: { type: 'array', items: { type: 'object', properties: { price: { type: 'string' } } } },
                meta: { type: 'object' }, tags: { type: 'array', items: { type: 'string' } },
              },
            },
            encoding,
          },
        },
      },
    },
  })
  fixture.inHome(
    shopDocument({
      paths: {
        '/deep': form('deep', {
          items: { style: 'deepObject', explode: true }, meta: { style: 'deepObject', explode: true },
          tags: { style: 'form', explode: false },
        }),
        '/json': form('json', { meta: { contentType: 'application/json' }, tags: { contentType: 'application/json' } }),
        '/flat': form('flat', { items: { style: 'form', explode: true } }),
        '/image': form('image', { meta: { contentType: 'image/png' } }),
      },
    }),
  )
  fixture.configure({ shop: { document: 'shop.json', baseUrl: fixture.shop.url } })
  const host = await fixture.open()
  expect(namesOf(host)).toEqual(['deep', 'json'])
  expect(host.diagnostics.map(({ message }) => message)).toEqual([
    expect.stringContaining('"flat" (POST /flat) has a form field "items" that is nested'),
    expect.stringContaining(
      '"image" (POST /image) has a form field "meta" with the unsupported media type "image/png"',
    ),
  ])
  const call = await caller(host)
  const body = { items: [{ price: 'a b' }, { price: 'c' }], meta: { a: { b: 1 }, n: null }, tags: ['x', 'y'] }
  await call('deep', { body })
  await call('json', { body: { ...body, items: null } })
  expect(fixture.shop.seen.map((request) => decodeURIComponent(request.body))).toEqual([
    'items[0][price]=a b&items[1][price]=c&meta[a][b]=1&tags=x,y', 'meta={"a":{"b":1},"n":null}&tags=["x","y"]',
  ])
  expect(fixture.shop.seen[0]!.headers['content-type']).toBe('application/x-www-form-urlencoded')
  expect(await call('deep', { body: { meta: { 'a][b': 1 } } })).toMatchObject({ error: { code: 'InputInvalid' } })
  expect(fixture.shop.seen).toHaveLength(2)
})

describe('an operation', () => {
  let shared: OpenapiFixture
  let call: Awaited<ReturnType<typeof caller>>
  beforeAll(async () => {
    shared = await OpenapiFixture.create()
    shared.inHome(shopDocument())
    shared.configure({ shop: { document: 'shop.json', baseUrl: shared.shop.url } })
    call = await caller(await shared.open())
  })
  afterAll(() => shared.remove())
  beforeEach(() => shared.forget())

  it('encodes every value for its place in the request', async () => {
    const paths = async (...ids: string[]) => {
      for (const id of ids) expect(await call('getOrder', { id })).toMatchObject({ type: 'output' })
      return shared.shop.seen.slice(-ids.length).map(({ url }) => url)
    }
    expect(await paths('../../admin', '%2e%2e', 'a/b?c=d#e', '..%2f', '\\..\\', 'å b', '//evil.example')).toEqual([
      '/orders/..%2F..%2Fadmin', '/orders/%252e%252e', '/orders/a%2Fb%3Fc%3Dd%23e', '/orders/..%252f',
      '/orders/%5C..%5C', '/orders/%C3%A5%20b', '/orders/%2F%2Fevil.example',
    ])
    const sent = shared.shop.seen.length
    for (const id of ['..', '.', ''])
      expect(await call('getOrder', { id })).toMatchObject({ error: { code: 'InputInvalid' } })
    expect(await call('listOrders', { 'X-Trace': 'a\r\nX-Evil: b' })).toMatchObject({ error: { code: 'InputInvalid' } })
    expect(await call('listOrders', { 'X-Other': 'a' })).toMatchObject({ error: { code: 'InputInvalid' } })
    expect(shared.shop.seen).toHaveLength(sent)
    await call('listOrders', { tag: ['a&b=c', 'd'], 'X-Trace': 'one' })
    expect(shared.shop.seen.at(-1)!).toMatchObject({
      url: '/orders?tag=a%26b%3Dc&tag=d', headers: { 'x-trace': 'one' },
    })
  })

  it('returns any status, truncates a long body, and does not decode binary data', async () => {
    shared.answer = (_, response) =>
      response.writeHead(404, { 'content-type': 'application/problem+json' }).end('{"detail":"gone"}')
    expect(await call('getOrder', { id: '1' })).toMatchObject({
      type: 'output', data: { status: 404, body: { detail: 'gone' } },
    })
    shared.answer = (_, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(`"${'ä'.repeat(50_000)}"`)
    const long = await call('getOrder', { id: '1' })
    expect(long).toMatchObject({ type: 'output', data: { truncated: true } })
    const { body } = (long as unknown as { data: { body: string } }).data
    expect([Buffer.byteLength(body), body.endsWith('ä')]).toEqual([65_535, true])
    expect((long as unknown as { content: { text: string }[] }).content[0]!.text).toMatch(
      /ä\n\[The response has more than 65536 bytes and was truncated\.\]$/,
    )
    shared.answer = (_, response) =>
      response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from([1, 0, 2]))
    expect(await call('getOrder', { id: '1' })).toMatchObject({
      data: { content_type: 'image/png', body: null },
      content: [{ text: expect.stringContaining('[3 bytes of binary data]') }],
    })
    shared.answer = (_, response) =>
      response.writeHead(200, { 'content-type': 'text/plain; charset=iso-8859-1' }).end(Buffer.from([0xe5]))
    expect(await call('getOrder', { id: '1' })).toMatchObject({ data: { body: 'å' } })
    shared.answer = (_, response) => response.writeHead(204).end()
    expect(await call('deleteOrder', { id: '1' })).toMatchObject({ data: { status: 204, body: '' } })
  })

  it('retries a request that was lost only if it has no effect', async () => {
    shared.answer = (_, response) => response.destroy()
    for (const [name, args] of [['createOrder', { body: { item: 'rope' } }], ['getOrder', { id: '1' }]] as const) {
      expect(await call(name, args)).toMatchObject({ type: 'error', error: { code: 'ToolExecutionFailed' } })
    }
    expect(shared.shop.seen.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET', 'GET'])
  })

  it('follows redirects within the configured server only', async () => {
    const elsewhere = await openShop((_, response) => response.end('reached'))
    try {
      shared.answer = ({ url }, response) =>
        url === '/moved' ? response.end('here') : response.writeHead(302, { location: '/moved' }).end()
      expect(await call('listOrders')).toMatchObject({
        data: { body: 'here' }, details: { url: `${shared.shop.url}/moved` },
      })
      shared.answer = (_, response) => response.writeHead(302, { location: elsewhere.url }).end()
      expect(await call('listOrders')).toMatchObject({
        error: { code: 'CapabilityDenied' },
        error_text: expect.stringMatching(joined(
          /redirects elsewhere\. .* or ask the operator to allow this one\. Its operations may reach only /,
          /`baseUrl` of "shop" in the configuration\.$/,
        )),
      })
      expect(elsewhere.seen).toEqual([])
    } finally {
      await elsewhere.close()
    }
  })
})
