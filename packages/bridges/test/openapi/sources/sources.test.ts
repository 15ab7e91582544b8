import { hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readFileSource } from '../../../src/openapi/sources/file.ts'
import { inlineText } from '../../../src/openapi/sources/source.ts'
import { readUrlSource } from '../../../src/openapi/sources/url.ts'

let folder: string
let server: Server
const seen: string[] = []
const files = new Map<string, string>()
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-sources-'))
  server = createServer(({ url }, response) => {
    seen.push(url!)
    if (url === '/moved.yaml') response.writeHead(302, { location: '/api/openapi.yaml' }).end()
    else response.writeHead(files.has(url!) ? 200 : 404).end(files.get(url!))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(() => {
  rmSync(folder, { recursive: true })
  server.closeAllConnections()
  server.close()
  seen.length = 0
  files.clear()
})
const sha512 = (text: string) => hash('sha512', text)
const at = (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`

it('reads the files below the folder of a document, and follows no link', async () => {
  mkdirSync(join(folder, 'api/models'), { recursive: true })
  writeFileSync(join(folder, 'secret.yaml'), 'x')
  writeFileSync(
    join(folder, 'api/openapi.yaml'),
    ['models/a', '../secret', 'link', 'linked/b', 'inner'].map((name) => `$ref: ${name}.yaml`).join('\n'),
  )
  writeFileSync(join(folder, 'api/models/a.yaml'), '$ref: ../models/a.yaml#/x\n$ref: gone.yaml')
  symlinkSync('../secret.yaml', join(folder, 'api/link.yaml'))
  symlinkSync('models/a.yaml', join(folder, 'api/inner.yaml'))
  symlinkSync('..', join(folder, 'api/linked'))
  writeFileSync(join(folder, 'b.yaml'), 'x')
  const read = () => readFileSource({ path: join(folder, 'api/openapi.yaml'), within: undefined })
  const before = await read()
  expect(before).toMatchObject({ ok: true, name: 'openapi.yaml', parts: [['models/a.yaml', expect.any(String)]] })
  writeFileSync(join(folder, 'api/models/a.yaml'), 'changed')
  const after = await read()
  expect(before.ok && after.ok && before.digest !== after.digest).toBe(true)
})

it('fetches a pinned document and its pinned parts once', async () => {
  files.set('/api/openapi.yaml', '$ref: models/a%20b.yaml#/A\n$ref: other.yaml')
  files.set('/api/models/a%20b.yaml', 'part')
  files.set('/api/other.yaml', 'not pinned')
  const document = {
    url: at('/api/openapi.yaml'), sha512: sha512(files.get('/api/openapi.yaml')!),
    parts: { 'models/a b.yaml': sha512('part') },
  }
  const cache = join(folder, 'cache')
  const first = await readUrlSource(document, cache)
  expect(first).toMatchObject({ ok: true, name: 'openapi.yaml', parts: [['models/a b.yaml', 'part']] })
  expect(seen).toEqual(['/api/openapi.yaml', '/api/models/a%20b.yaml'])
  files.clear()
  expect(await readUrlSource(document, cache)).toEqual(first)
  expect([seen.length, readdirSync(cache).length]).toEqual([2, 2])
  writeFileSync(join(cache, sha512('part')), 'forged')
  expect(await readUrlSource(document, cache)).toMatchObject({
    ok: false, message: expect.stringContaining('status 404'),
  })
})

it('refuses another content, a redirect and an open network', async () => {
  files.set('/api/openapi.yaml', 'changed')
  const message = async (url: string, digest = sha512('x')) => {
    const read = await readUrlSource({ url, sha512: digest })
    return read.ok ? '' : read.message
  }
  expect(await message(at('/api/openapi.yaml'))).toBe(
    `does not have the pinned digest: the sha512 of ${at('/api/openapi.yaml')} is ${sha512('changed')}`,
  )
  expect(await message(at('/moved.yaml'))).toContain('answers with status 302')
  expect(await message('http://shop.example/openapi.yaml')).toContain('use https')
  expect(await message('http://127.0.0.1:9/openapi.yaml')).toMatch(/^cannot be fetched: /)
})

it('takes text and objects of the configuration', () => {
  expect(inlineText({ text: 'openapi: 3.1.0' })).toBe('openapi: 3.1.0')
  expect(inlineText({ openapi: '3.1.0', text: 'x', url: 'y' })).toBe('{"openapi":"3.1.0","text":"x","url":"y"}')
})

it('reads 16 MB of a file or an address', async () => {
  const large = ' '.repeat(16 * 1024 * 1024 + 1)
  const path = join(folder, 'openapi.yaml')
  writeFileSync(path, large)
  const fault = (answer: Awaited<ReturnType<typeof readFileSource>>) => answer.ok ? 'none' : answer.message
  expect(fault(await readFileSource({ path, within: undefined }))).toContain('has more than 16777216 bytes')
  files.set('/large.yaml', large)
  const url = at('/large.yaml')
  expect(fault(await readUrlSource({ url, sha512: sha512(large) }))).toContain('has more than 16777216 bytes')
})
