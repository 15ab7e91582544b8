import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describeDocument, type DescribeOptions } from '@bulkhead/bridges/openapi'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { publicData } from '../../../../scripts/public-data.ts'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { inside } from '../command-inside.ts'
import { useThreads } from '../extension-folder.ts'
import { openShop } from './shop.ts'

const ROOT = join(import.meta.dirname, '../../../..')
let folder: string
let extension: string
/** As the template has it. Tests write this file again. */
let written: unknown
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-openapi-template-'))
  extension = join(folder, 'pets')
  await inside(['new', 'pets', '--template', 'openapi'], folder)
  written = JSON.parse(readFileSync(join(extension, 'api.json'), 'utf8'))
  // Copies, as npm makes them: what a link leads to is outside the folder, and is not bundled.
  for (const part of ['bridges/package.json', 'bridges/src', 'kit/package.json', 'kit/src']) {
    cpSync(join(ROOT, 'packages', part), join(extension, 'node_modules/@bulkhead', part), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules/vitest'), join(extension, 'node_modules/vitest'))
  symlinkSync(join(ROOT, 'packages/contract'), join(extension, 'node_modules/@bulkhead/contract'))
  // The copies are TypeScript.
  writeFileSync(
    join(extension, 'vitest.config.js'), 'export default { test: { server: { deps: { inline: [/@bulkhead/] } } } }',
  )
  useThreads(join(folder, 'home/.bulkhead'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** What `npm run generate` does, for a document of these files. The first is the main one. */
async function generate(files: Readonly<Record<string, string>>, options: Partial<DescribeOptions> = {}) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(extension, name)), { recursive: true })
    writeFileSync(join(extension, name), text)
  }
  const made = await describeDocument(join(extension, Object.keys(files)[0]!), { id: 'pets', ...options })
  writeFileSync(join(extension, 'api.json'), JSON.stringify(made.extension, null, 2))
  return made
}
const pack = () => inside(['pack', './pets', '--json'], folder)
/** The test of the project, without the suite. */
function runTest(): { readonly passed: string; readonly output: string } {
  // Not the variables of this vitest.
  const env = { PATH: process.env['PATH'], HOME: folder, NO_COLOR: '1' }
  const { stdout, stderr } = spawnSync(join(ROOT, 'node_modules/.bin/vitest'), ['run', 'test/index.test.ts'], {
    cwd: extension, encoding: 'utf8', env,
  })
  return { passed: /^ *Tests +(.*)$/m.exec(stdout)?.[1] ?? '', output: stdout + stderr }
}
const namesOf = (api: { readonly tools: readonly { readonly name: string }[] }) => api.tools.map(({ name }) => name)

it('api.json of the template is what generate.ts makes of its document', async () => {
  expect(await generate({ 'openapi.json': readFileSync(join(extension, 'openapi.json'), 'utf8') })).toEqual({
    extension: written, notes: [],
  })
})

it('offers operations without ids or servers, of several files, and sends secrets, styles, bodies', LONG, async () => {
  const shop = await openShop(({ method, url }, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ method, url })),
  )
  const document = `openapi: 3.0.3
info: { title: Shop, version: '1' }
components:
  securitySchemes:
    api key: { type: apiKey, in: header, name: X-Key }
security: [{ api key: [] }]
paths:
  /orders/{id}:
    post:
      parameters:
        - { name: id, in: path, required: true, schema: { type: string } }
        - { name: tags, in: query, style: pipeDelimited, explode: false,
            schema: { type: array, items: { type: string } } }
      requestBody: { content: { application/json: { schema: { $ref: 'models/order.yaml#/Order' } } } }
      responses: { '200': { description: ok } }
  /health: { $ref: 'paths/health.yaml' }
`
  const files = {
    'shop.yaml': document, 'models/order.yaml': 'Order: { type: object, properties: { sum: { type: number } } }\n',
    'paths/health.yaml': 'get: { security: [], responses: {} }\n',
  }
  try {
    await expect(generate(files)).rejects.toThrow(
      /shop\.yaml has no server with an absolute URL; set "baseUrl" in the options\./,
    )
    const { extension: api, notes } = await generate(files, { baseUrl: `${shop.url}/v1` })
    expect(namesOf(api).toSorted()).toEqual(['get_health', 'post_orders_by_id'])
    expect(notes).toEqual(['The operations use the secret PETS_API_KEY. A user sets it as a variable of the host.'])
    expect(await pack()).toMatchObject({ code: 0, stderr: '' })
    const { passed, output } = runTest()
    expect(passed, output).toBe('1 passed | 1 skipped (2)')
    const args = JSON.stringify({ id: 'a/b', tags: ['x', 'y'], body: { sum: 3 } })
    const called = await inside(
      ['call', './pets', 'post_orders_by_id', '--mode', 'yolo', '--json', '--args', args], folder,
      { PETS_API_KEY: 'a-secret-of-the-user' },
    )
    expect(JSON.parse(called.stdout)).toMatchObject({
      data: { status: 200, body: { method: 'POST', url: '/v1/orders/a%2Fb?tags=x%7Cy' } },
    })
    const [{ headers, body }] = shop.seen as [(typeof shop.seen)[number]]
    expect([headers['x-key'], headers['content-type'], body]).toEqual([
      'a-secret-of-the-user', 'application/json', '{"sum":3}',
    ])
  } finally {
    await shop.close()
  }
})

it.each([
  ['Swagger 2.0', '{ "swagger": "2.0", "paths": {} }', /has an unsupported version; use OpenAPI 3\.0 or 3\.1/],
  [
    'no operation', '{ "openapi": "3.1.0", "servers": [{ "url": "https://a.example" }], "paths": {} }',
    /has no operation that can be used/,
  ],
  ['no document', 'a: [', /is neither JSON nor YAML/],
])('explains %s', async (_, text, message) => {
  await expect(generate({ 'openapi.json': text })).rejects.toThrow(message)
})

describe('public OpenAPI documents', needs('public test data'), () => {
  const small: readonly (readonly [string, number])[] = [['petstore.yaml', 0]]
  const large = [['k8s-apps.json', 1], ['k8s-core.json', 1], ['stripe.json', 1], ['discord.json', 1]] as const
  it.each(thoroughly(small, [...small, ...large]))(
    '%s becomes a package, and what does not fit is named',
    async (file, leftOut) => {
      const text = gunzipSync(readFileSync(publicData(`openapi/${file}.gz`)!)).toString()
      const { extension: api, notes } = await generate({ [file]: text }, { baseUrl: 'https://api.example.com' })
      expect(notes.filter((note) => note.includes('operations are left out'))).toHaveLength(leftOut)
      expect(api.tools.length).toBeGreaterThan(10)
      const { code, stdout, stderr } = await pack()
      expect([code, stderr]).toEqual([0, ''])
      expect((JSON.parse(stdout) as { tools: unknown[] }).tools).toHaveLength(api.tools.length)
    },
  )
})
