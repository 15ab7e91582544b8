import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { checkLink } from '../../src/install/bounded-fetch.ts'
import { Registry } from '../../src/install/registry.ts'

const link = (to: string, from: string) => checkLink(to, 'a tarball', new URL(from)).href

test.each([
  ['https://cdn.example/x', 'https://registry.example'],
  ['http://127.0.0.1:4873/x', 'http://localhost:4873'],
  ['https://10.0.0.5/x', 'https://10.0.0.4'],
  ['https://10.0.0.5/x', 'http://127.0.0.1'],
  ['https://cdn.example/x', 'http://127.0.0.1'],
])('%s may be named by %s', (to, from) => expect(link(to, from)).toBe(to))

test.each([
  [
    'http://127.0.0.1:8080/x', 'https://registry.example',
    /it is on this machine, and https:\/\/registry\.example, which refers to it, is not\. /,
  ],
  ['https://[::1]/x', 'https://registry.example', /this machine/],
  ['https://192.168.0.1/x', 'https://registry.example', /a private network/],
  ['https://localhost/x', 'https://10.0.0.4', /this machine/],
  ['http://10.0.0.5/x', 'https://10.0.0.4', /must start with https/],
])('%s may not be named by %s', (to, from, why) => expect(() => link(to, from)).toThrow(why))

describe('a remote registry', () => {
  const asked: string[] = []
  let server: Server
  let near: string
  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push(request.url!)
      response.end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    near = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  })
  afterEach(() => vi.restoreAllMocks())
  afterAll(() => server.close())

  const integrity = `sha512-${Buffer.alloc(64).toString('base64')}`
  const steer = async (dist: object, answer?: Response) => {
    const really = globalThis.fetch
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (to, init) => {
      const { hostname, pathname } = new URL(String(to))
      if (hostname !== 'registry.example') return really(to, init)
      return pathname === '/weather'
        ? Response.json({ name: 'weather', versions: { '1.0.0': { version: '1.0.0', dist: { integrity, ...dist } } } })
        : answer!
    })
    const registry = new Registry({ url: 'https://registry.example' })
    const version = await registry.resolve('weather', '1.0.0')
    return Promise.all([
      registry.tarball(version, 1_000), version.attestations && registry.attestations(version.attestations),
    ])
  }

  test.each([
    ['a tarball', () => steer({ tarball: `${near}x` })],
    [
      'attestations',
      () => steer({ tarball: 'https://registry.example/x', attestations: { url: `${near}x` } }, new Response()),
    ],
    [
      'a redirect',
      () => steer({ tarball: 'https://registry.example/x' }, new Response(null, {
        status: 302, headers: { location: `${near}x` },
      })),
    ],
  ])('cannot refer to this machine with %s', async (_, work) => {
    await expect(work()).rejects.toMatchObject({
      code: 'InstallSourceInvalid', message: expect.stringContaining('on this machine'),
    })
    expect(asked).toEqual([])
  })
})
