import { hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { caller, namesOf, OpenapiFixture } from './fixture.ts'
import { shopDocument } from './shop.ts'

const ROOT = join(import.meta.dirname, '../../../..')

let fixture: OpenapiFixture
beforeEach(async () => {
  fixture = await OpenapiFixture.create()
})
afterEach(() => fixture.remove())

it('takes a pinned URL, text and an object, and filters by method', async () => {
  const text = JSON.stringify(shopDocument())
  fixture.answer = ({ url }, response) =>
    response.setHeader('link', '</orders?tag=b>; rel="next"').end(url === '/openapi.json' ? text : '{}')
  const baseUrl = fixture.shop.url
  const pinned = { url: `${baseUrl}/openapi.json`, sha512: hash('sha512', text) }
  fixture.configure({
    pinned: { document: pinned, baseUrl, prefix: 'pinned', methods: ['delete'] },
    yaml: { document: { text: 'openapi: 3.1.0\npaths: { /x: { get: { operationId: go } } }' }, baseUrl },
    other: { document: { ...pinned, sha512: hash('sha512', 'x') }, baseUrl, prefix: 'other' },
  })
  const host = await fixture.open({
    config: { openapi: { mine: { document: shopDocument(), baseUrl, prefix: 'mine', methods: ['get'] } } },
  })
  expect(namesOf(host)).toEqual(['go', 'mine__getOrder', 'mine__listOrders', 'pinned__deleteOrder'])
  expect(['mine__getOrder', 'pinned__deleteOrder'].map((name) => host.tool(name)?.integrity)).toEqual([
    'unpinned', 'pinned',
  ])
  expect(host.diagnostics).toMatchObject([
    { path: '/openapi/other', message: expect.stringContaining(`is ${pinned.sha512}. It offers no tools.`) },
  ])
  const call = await caller(host)
  expect(await call('mine__listOrders', { tag: ['a'] })).toMatchObject({
    data: { next: { arguments: { tag: 'b' } } }, details: { next: {} },
  })
})

it('a trusted project can use a document of several files', async () => {
  const project = join(fixture.folder, '.bulkhead')
  mkdirSync(join(fixture.folder, 'api'))
  fixture.inFolder({ get: { operationId: 'bundled' } }, 'api/path.json')
  fixture.inFolder({ openapi: '3.1.0', paths: { '/x': { $ref: 'path.json' } } }, 'api/openapi.json')
  fixture.configure({ shop: { document: 'api/openapi.json', baseUrl: fixture.shop.url } }, {}, project)
  expect(namesOf(await fixture.open({ trust: 'once' }))).toEqual(['bundled'])
})

it('the program of the guide calls an operation', LONG, async () => {
  const [, program] = /^```ts shop\.ts\n([\s\S]*?)^```/m.exec(
    readFileSync(join(ROOT, 'docs/guides/openapi.md'), 'utf8'),
  )!
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-openapi-'))
  const log = vi.spyOn(console, 'log').mockReturnValue()
  vi.stubEnv('SHOP_URL', fixture.shop.url)
  vi.stubEnv('HOME', folder)
  try {
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(join(ROOT, 'packages/bulkhead'), join(folder, 'node_modules/bulkhead'))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, 'shop.ts'), program!.replace('process.cwd()', JSON.stringify(folder)))
    await import(pathToFileURL(join(folder, 'shop.ts')).href)
    expect(log.mock.calls).toEqual([
      [{ status: 200, content_type: 'application/json', body: { method: 'GET', url: '/orders?page=1' } }],
    ])
  } finally {
    vi.unstubAllEnvs()
    log.mockRestore()
    rmSync(folder, { recursive: true })
  }
})
