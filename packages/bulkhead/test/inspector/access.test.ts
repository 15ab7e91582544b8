import { request, type IncomingHttpHeaders } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { createInspector } from '../../src/index.ts'
import { send, signIn } from './client.ts'
import { openWorld } from './world.ts'

const status = async (response: Promise<Response>) => (await response).status

it('a token signs in once, and nothing is shown without a key', async () => {
  await using world = await openWorld()
  const link = world.inspector.link(world.url)
  await signIn(link)
  await expect(signIn(link)).rejects.toMatchObject({ code: 'TokenInvalid' })
  const paths = [
    'about', 'waiting', 'calls', 'tools', 'policy', 'health', 'events?topics=calls', 'calls/a/b/export', 'nothing',
  ]
  expect(await Promise.all(paths.map((path) => status(send(`${world.url}/api/${path}`))))).toEqual(paths.map(() => 401))
  expect(await status(send(`${world.url}/api/about`, 'guess'))).toBe(401)
})

it('closes sign-in after ten wrong tokens, until a fresh link', async () => {
  await using world = await openWorld()
  const early = world.inspector.link(world.url)
  const wrong = () => status(send(`${world.url}/api/sign-in`, undefined, { token: 'x' }))
  for (let tries = 0; tries < 10; tries++) expect(await wrong()).toBe(401)
  expect(await wrong()).toBe(429)
  await expect(signIn(early)).rejects.toMatchObject({ code: 'TooManyAttempts' })
  await signIn(world.inspector.link(world.url))
})

/** `fetch` sets these headers itself. */
const statusWith = (url: string, headers: Record<string, string>): Promise<number> => new Promise((resolve, reject) => {
  const { port } = new URL(url)
  request({ port, host: '127.0.0.1', path: '/api/about', headers }, (response) => {
    response.resume()
    resolve(response.statusCode!)
  }).on('error', reject).end()
})

it.each([
  ['another host name', { host: 'evil.example' }, 403],
  ['a host name that begins like ours', { host: 'localhost.evil.example' }, 403],
  ['a page of another site', { host: 'localhost:1', origin: 'https://evil.example' }, 403],
  ['a page without an origin', { host: 'localhost:1', origin: 'null' }, 403],
  ['a request of another site', { host: 'localhost:1', 'sec-fetch-site': 'cross-site' }, 403],
  ['a name with a user', { host: 'localhost@evil.example' }, 400],
  ['its own page', { host: 'localhost:1', origin: 'http://localhost:1', 'sec-fetch-site': 'same-origin' }, 401],
  ['an address', { host: '127.0.0.1:1' }, 401],
])('answers %s as it must', async (_, headers, expected) => {
  await using world = await openWorld()
  expect(await statusWith(world.url, headers)).toBe(expected)
})

it('sends headers that let the page load nothing from elsewhere', async () => {
  await using world = await openWorld()
  const { headers } = await fetch(`${world.url}/api/about`)
  expect(headers.get('content-security-policy')).toMatch("default-src 'none'; script-src 'self'")
  expect(['x-frame-options', 'cache-control', 'set-cookie'].map((name) => headers.get(name)))
    .toEqual(['DENY', 'no-store', null])
})

it('refuses long bodies, other types, and what it does not know', async () => {
  await using world = await openWorld()
  const client = await world.client()
  await expect(client.post('policy/try', { tool: 'x'.repeat(300_000) })).rejects.toMatchObject({ code: 'TooLarge' })
  await expect(client.post('nothing', {})).rejects.toMatchObject({ code: 'NotFound' })
  await expect(client.get('calls?limit=-1')).rejects.toMatchObject({ code: 'InputInvalid' })
  await expect(client.post('capture', { on: true })).rejects.toMatchObject({ code: 'ReadOnly' })
  const headers = { 'content-type': 'text/plain' }
  const plain = await fetch(`${world.url}/api/sign-in`, { method: 'POST', body: '{}', headers })
  expect(plain.status).toBe(400)
})

it('a key ends with the server', async () => {
  await using world = await openWorld()
  const client = await world.client()
  world.inspector.close()
  await expect(client.get('about')).rejects.toMatchObject({ code: 'Failed' })
})

it('is mounted below a path of another server', async () => {
  await using world = await openWorld()
  const inspector = await createInspector(world.host, { base: '/ops', origins: ['https://ops.example'] })
  const ask = (path: string, headers = {}) => inspector.fetch(new Request(`https://ops.example${path}`, { headers }))
  const statuses = ['/ops', '/ops/api/about', '/api/about'].map(async (path) => (await ask(path)).status)
  expect(await Promise.all(statuses)).toEqual([308, 401, 404])
  expect((await ask('/ops/api/about', { origin: 'https://evil.example' })).status).toBe(403)
  expect(inspector.link('https://ops.example')).toMatch(/^https:\/\/ops\.example\/ops\/#[\w-]{43}$/)
  inspector.close()
  await expect(createInspector({ ...world.host })).rejects.toMatchObject({ code: 'ConfigInvalid' })
  await expect(createInspector(world.host, { base: 'ops' })).rejects.toMatchObject({ code: 'ConfigInvalid' })
})

it('serves the page and its files', async () => {
  await using world = await openWorld()
  const page = await fetch(`${world.url}/`)
  const html = await page.text()
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|\sstyle=|https?:\/\/(?!localhost)/)
  const [, script] = /src="(?:\.\/)?(assets\/main-[\w-]+\.js)"/.exec(html)!
  const found = await fetch(`${world.url}/${script}`)
  expect([found.status, found.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
  expect((await fetch(`${world.url}/assets/../../package.json`)).status).toBe(404)
})

it.each([
  ['br', 'gzip, deflate, br', brotliDecompressSync], ['gzip', 'br;q=0, gzip;q=0.5', gunzipSync],
  ['br', '*', brotliDecompressSync], [undefined, 'identity', (bytes: Buffer) => bytes],
])('sends files as %s to a client that accepts "%s"', async (encoding, accepted, read) => {
  await using world = await openWorld()
  const get = (path: string) => new Promise<{ headers: IncomingHttpHeaders; body: Buffer }>((resolve, reject) => {
    request(`${world.url}/${path}`, { headers: { 'accept-encoding': accepted } }, (response) => {
      response.toArray().then((parts) => resolve({ headers: response.headers, body: Buffer.concat(parts) }), reject)
    }).on('error', reject).end()
  })
  const html = await get('')
  expect(html.headers).toMatchObject({ vary: 'accept-encoding', 'cache-control': 'no-store' })
  const [, script] = /src="(?:\.\/)?(assets\/main-[\w-]+\.js)"/.exec(read(html.body).toString())!
  const { headers, body } = await get(script!)
  expect([headers['content-encoding'], headers.vary]).toEqual([encoding, 'accept-encoding'])
  expect(headers['cache-control']).toMatch(/^max-age=\d+, immutable$/)
  expect(headers['content-length']).toBe(String(body.length))
  expect(read(body).toString()).toContain('Nothing waits for you')
})
