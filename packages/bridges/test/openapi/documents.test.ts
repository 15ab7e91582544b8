import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manifestSchema } from '@bulkhead/contract/validation'
import type { ConfigFile, LayerConfig } from '@bulkhead/contract'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { baseUrlOf, documentEntries, documentExtension } from '../../src/openapi/document-extension.ts'
import { OpenapiDocuments } from '../../src/openapi/index.ts'
import { document, read } from './reading/read.ts'

type Documents = NonNullable<ConfigFile['openapi']>

let folder: string
let documents: OpenapiDocuments
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-openapi-'))
  documents = new OpenapiDocuments({ workspace: join(folder, 'nowhere'), home: folder })
})
afterEach(() => rmSync(folder, { recursive: true }))

const write = (paths: object, more: object = {}, name = 'a.json') =>
  writeFileSync(join(folder, name), JSON.stringify(document(paths, more)))
const offer = (global: Documents, project: Documents = {}) => {
  const layers = Object.entries({ global, project }).map(
    ([layer, openapi]) => ({ layer: layer as LayerConfig['layer'], location: `${layer}.json`, config: { openapi } }),
  )
  return documents.offer({ merged: {}, layers })
}
const PATHS = {
  '/x': { get: { operationId: 'a.b' }, post: { operationId: 'a_b' }, put: { operationId: '1st' } },
  '/y': { get: { operationId: 'y'.repeat(100) }, post: {} },
}
const BASE = 'https://Shop.example/v1/'

it('creates a valid manifest with names that every model API accepts', async () => {
  write(PATHS)
  const { extensions: [extension], diagnostics } = await offer({
    Shop: { document: 'a.json', baseUrl: BASE, auth: { type: 'bearer', secret: 'KEY' }, timeoutMs: 5 },
  })
  const { tools, secrets, id, version } = manifestSchema.parse(extension!.manifest)
  expect(tools.map(({ name }) => name)).toEqual(['op_1st', expect.stringMatching(/^y{55}_[0-9a-f]{8}$/), 'post_y'])
  expect([id, version, secrets]).toEqual([
    'openapi-shop', expect.stringMatching(/^1\.0\.0\+[0-9a-f]{12}$/), [{ name: 'KEY', hosts: ['shop.example:443'] }],
  ])
  expect(tools[0]).toMatchObject({
    gated: true, mode: 'external', idempotent: false, timeoutMs: 5, requires: { net: { hosts: ['shop.example:443'] } },
  })
  expect(diagnostics).toMatchObject([
    {
      severity: 'error', code: 'ShapeInvalid', path: '/openapi/Shop',
      message: expect.stringContaining('"a.b" and "a_b" would both be called "a_b"'),
    },
  ])
})

it('believes by the method alone that an operation has no effects', async () => {
  const methods = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'trace']
  write({ '/x': Object.fromEntries(methods.map((method) => [method, { operationId: `the_${method}` }])) })
  const { extensions: [extension] } = await offer({ shop: { document: 'a.json', baseUrl: BASE } })
  const harmless = extension!.manifest.tools.filter(({ effects }) => effects === 'none')
  expect(harmless.map(({ name }) => name).toSorted()).toEqual(['the_get', 'the_head'])
  expect(extension!.manifest.tools.length).toBeGreaterThan(harmless.length)
})

it('changes identity and definitions with the base URL, the secret and the operation', () => {
  // Without `OpenapiDocuments`, which would start a thread for each document.
  const offered = (paths: object, config: Partial<Documents[string]> = {}) => {
    const openapi = { shop: { document: 'a.json', baseUrl: BASE, ...config } }
    const {
      entries: [entry],
    } = documentEntries({ layers: [{ layer: 'global', location: 'global.json', config: { openapi } }] })
    const verdict = baseUrlOf(openapi.shop.baseUrl, null)
    if (!verdict.ok) throw new Error(verdict.message)
    const { extension } = documentExtension(entry!, '/a.json', read(paths, {}, { operations: ['go'] }), verdict.base)
    return { identity: extension!.identity, definition: extension!.definitions.get('go') }
  }
  const go = (more: object = {}, path = '/x', method = 'get') =>
    ({ [path]: { [method]: { operationId: 'go', ...more } } })
  const before = offered(go())
  const identities = [
    before, offered(go(), { baseUrl: 'https://shop.example/v2' }),
    offered(go(), { auth: { type: 'bearer', secret: 'A' } }), offered(go(), { auth: { type: 'bearer', secret: 'B' } }),
  ]
  expect(new Set(identities.map(({ identity }) => identity)).size).toBe(4)
  expect(
    offered({ ...go({ 'responses': {}, 'x-note': 1 }), '/other': { get: { operationId: 'other' } } }, { timeoutMs: 7 }),
  ).toEqual(before)
  const others = [
    go({ description: 'd' }), go({ summary: 's' }), go({}, '/y'), go({}, '/x', 'put'),
    go({ parameters: [{ name: 'q', in: 'query' }] }),
  ].map((paths) => offered(paths))
  for (const { identity } of others) expect(identity).toBe(before.identity)
  expect(new Set([before, ...others].map(({ definition }) => definition)).size).toBe(others.length + 1)
})

it('caches a parsed document until it changes, and ignores invalid cache files', LONG, async () => {
  const cache = join(folder, 'cache')
  const fresh = () => new OpenapiDocuments({ workspace: folder, home: folder, cache })
  const offered = async () => {
    documents = fresh()
    const { extensions, diagnostics } = await offer({ shop: { document: 'a.json', baseUrl: BASE } })
    return { manifest: extensions[0]?.manifest, definitions: extensions[0]?.definitions, diagnostics }
  }
  write(PATHS)
  const before = await offered()
  const [file] = globSync('*.json', { cwd: cache }).map((name) => join(cache, name))
  const kept = readFileSync(file!, 'utf8')
  expect(await offered()).toEqual(before)
  writeFileSync(file!, kept.replace('"operationId":"1st"', '"operationId":"kept"'))
  expect((await offered()).manifest!.tools.map(({ name }) => name)).toContain('kept')
  const invalid = ['', kept.replace(/"reader":\d+/, '"reader":0'), kept.replace('"path":"/x"', '"path":"x"')]
  const more = ['{}', kept.replace(/"inputSchema":\{/, '"inputSchema":5,"x":{')]
  for (const other of [...invalid, ...thoroughly([], more)]) {
    expect(other).not.toBe(kept)
    writeFileSync(file!, other)
    expect(await offered()).toEqual(before)
  }
  write({ '/z': { get: { operationId: 'z' } } })
  expect((await offered()).manifest!.tools.map(({ name }) => name)).toEqual(['z'])
  expect(globSync('*', { cwd: cache })).toHaveLength(1)
})

it.each<readonly [string, Partial<Documents[string]>]>([
  ['would receive secrets over http', { baseUrl: 'http://shop.example', auth: { type: 'bearer', secret: 'KEY' } }],
  ['but no "baseUrl"', { auth: { type: 'bearer', secret: 'KEY' } }],
  ['a user name or password', { baseUrl: 'https://me:you@shop.example' }],
  ['a query or a fragment', { baseUrl: 'https://shop.example/?key=1' }],
])('rejects a configuration: %s', async (message, config) => {
  write(PATHS, { servers: [{ url: 'https://shop.example' }] })
  expect(await offer({ shop: { document: 'a.json', ...config } })).toMatchObject({
    extensions: [],
    diagnostics: [{ code: 'ConfigInvalid', path: '/openapi/shop', message: expect.stringContaining(message) }],
  })
})

it.each([
  ['is not a file', () => '.'], ['does not exist', () => 'none.json'],
  ['has more than 16777216 bytes', () => {
    writeFileSync(join(folder, 'huge.json'), Buffer.alloc(17 * 1024 * 1024, ' '))
    return 'huge.json'
  }],
  ['is not a file', () => {
    expect(spawnSync('mkfifo', [join(folder, 'pipe')]).status).toBe(0)
    return 'pipe'
  }],
])('reports that a document %s', async (message, make) => {
  expect(await offer({ shop: { document: make(), baseUrl: BASE } })).toMatchObject({
    extensions: [], diagnostics: [{ code: 'ConfigInvalid', message: expect.stringContaining(message) }],
  })
})

it('uses a project document only with the trusted digest', async () => {
  documents = new OpenapiDocuments({ workspace: realpathSync(folder), home: join(folder, 'nowhere') })
  write(PATHS)
  const digest = hash('sha512', readFileSync(join(folder, 'a.json')))
  const ofProject = (trusted?: ReadonlyMap<string, string | null>) =>
    documents.offer(
      {
        merged: {},
        layers: [
          {
            layer: 'project', location: 'project.json',
            config: { openapi: { shop: { document: 'a.json', baseUrl: BASE } } },
          },
        ],
      },
      trusted,
    )
  expect((await ofProject(new Map([['shop', digest]]))).extensions).toMatchObject([{ layer: 'project' }])
  const changed = {
    extensions: [], diagnostics: [{ code: 'ConfigInvalid', message: expect.stringContaining('has changed since') }],
  }
  for (const other of [undefined, new Map(), new Map([['shop', null]]), new Map([['other', digest]])])
    expect(await ofProject(other)).toMatchObject(changed)
  writeFileSync(join(folder, 'a.json'), ' ', { flag: 'a' })
  expect(await ofProject(new Map([['shop', digest]]))).toMatchObject(changed)
})

it('lets a project disable a document of the user, but not change it', async () => {
  write(PATHS)
  const shop = { document: 'a.json', baseUrl: BASE }
  expect(await offer({ shop }, { shop: { ...shop, enabled: false } })).toEqual({ extensions: [], diagnostics: [] })
  const { extensions, diagnostics } = await offer({ shop }, { shop: { ...shop, baseUrl: 'https://evil.example' } })
  expect([extensions.map(({ server }) => server.address), diagnostics[0]!.code]).toEqual([
    ['https://shop.example/v1'], 'RegistrationConflict',
  ])
})
