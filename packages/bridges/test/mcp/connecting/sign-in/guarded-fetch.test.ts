import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { addressFault, guardedFetch } from '../../../../src/mcp/connecting/sign-in/guarded-fetch.ts'

const names: Readonly<Record<string, readonly string[]>> = {
  'harbour.example': ['93.184.216.34'], 'inside.example': ['10.1.2.3'], 'both.example': ['93.184.216.34', '127.0.0.1'],
  'local.example': ['127.0.0.1'], 'gone.example': [],
}
const lookup = async (host: string) => names[host] ?? []

it.each([
  ['https://harbour.example', 'https://inside.example/', 'private'],
  ['https://harbour.example', 'https://local.example/', 'loopback'],
  // One address of this machine is enough to refuse a name.
  ['https://harbour.example', 'https://both.example/', 'loopback'],
  ['https://harbour.example', 'https://169.254.169.254/latest', 'metadata'],
  ['https://inside.example', 'https://169.254.169.254/latest', 'metadata'],
  ['https://inside.example', 'https://127.0.0.1/', 'loopback'],
  ['https://harbour.example', 'https://[::ffff:10.0.0.1]/', 'private'],
  ['https://harbour.example', 'https://0.0.0.0/', 'unspecified'],
  ['https://harbour.example', 'https://gone.example/', 'no address'],
])('a server at %s cannot name %s', async (server, url, why) => {
  const failed = await guardedFetch(
    new URL(server), undefined, lookup,
  )(url).then(
    () => undefined, (error: unknown) => error,
  )
  expect(failed).toBeInstanceOf(TypeError)
  expect(`${String(failed)} ${String((failed as Error).cause ?? '')}`).toContain(why)
})

it.each([
  ['https://harbour.example/', 'https://other.example/', undefined],
  ['http://127.0.0.1:1/', 'http://localhost:2/', undefined],
  ['https://harbour.example/', 'http://localhost:2/', 'does not use https'],
  ['http://127.0.0.1:1/', 'http://harbour.example/', 'does not use https'],
  ['https://harbour.example/', 'https://user:word@other.example/', 'contains a user name or password'],
  ['https://harbour.example/', 'data:text/plain,x', 'is neither an http nor an https address'],
])('a server at %s that names %s', (server, url, fault) => {
  expect(addressFault(new URL(url), new URL(server))).toBe(fault)
})

it('reads bounded responses and follows no redirects', async () => {
  const server = createServer((request, response) => {
    if (request.url === '/long') response.end('x'.repeat(2 * 1024 * 1024))
    else response.writeHead(302, { location: 'http://169.254.169.254/' }).end('elsewhere')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    const get = guardedFetch(new URL(origin))
    const response = await get(`${origin}/`)
    expect([response.status, await response.text()]).toEqual([302, 'elsewhere'])
    await expect(get(`${origin}/long`)).rejects.toThrow('more than 1048576 bytes')
  } finally {
    server.close()
  }
})
