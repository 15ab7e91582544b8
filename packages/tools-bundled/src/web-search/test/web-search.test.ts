import type { RequestListener } from 'node:http'
import { manifestSchema } from '@bulkhead/contract/validation'
import { beforeEach, describe, expect, it } from 'vitest'
import { hostOf, serviceOf } from '../service.ts'
import { createBundledExtensions } from '../../index.ts'
import { serviceFor } from '../web-search.ts'
import { serve } from '../../../test/loopback.ts'
import { sessionMemory } from '../../../test/memory.ts'
import { toolSession } from '../../../test/tool-session.ts'

let answer: RequestListener
const json = (value: unknown, status = 200): RequestListener => (_, response) => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
const server = await serve((request, response) => answer(request, response))

describe('web_search with SearXNG', () => {
  const memory = sessionMemory()
  const tool = toolSession('web_search', { session: memory }, {
    bundled: { search: { providers: [{ type: 'searxng', url: `${server.base}/searx/` }], callsPerSession: 3 } },
  })
  let sessions = 0
  beforeEach(() => { memory.current = `s${++sessions}` })

  it('returns the title, URL and snippet of each result', async () => {
    answer = json({
      query: 'x', number_of_results: 0,
      results: [
        {
          url: 'https://a.example/1', title: 'A <b>bold</b>\n title', content: 'words\u202e about it', engine: 'x',
          score: 1,
        },
        { url: 'javascript:alert(1)', title: 'no', content: '' }, { url: 'ftp://x/', title: 'no' }, 'noise',
        { title: 'no address' },
        { url: 'https://b.example/', title: 'B' },
      ],
    })
    expect(await tool.call({ query: 'a & b=c', max_results: 2 })).toEqual({
      results: [
        { url: 'https://a.example/1', title: 'A bold title', snippet: 'words about it' },
        { url: 'https://b.example/', title: 'B', snippet: '' },
      ],
    })
    expect(server.requests.at(-1)!.url).toBe('/searx/search?format=json&q=a%20%26%20b%3Dc')
  })

  it('limits the number of searches per session', async () => {
    answer = json({ results: [] })
    for (const _ of [1, 2, 3]) expect(await tool.call({ query: 'x' })).toEqual({ results: [] })
    const before = server.requests.length
    expect(await tool.refusal({ query: 'x' })).toMatchObject({
      code: 'ToolExecutionFailed', message: expect.stringContaining('3 times'),
    })
    expect(server.requests).toHaveLength(before)
    memory.current = 'fresh'
    expect(await tool.call({ query: 'x' })).toEqual({ results: [] })
  })

  it('counts a search before it is sent, also if many start at once', async () => {
    answer = json({ results: [] })
    const before = server.requests.length
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => tool.call({ query: 'x' })))
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    expect(server.requests).toHaveLength(before + 3)
  })

  it.each([
    ['a busy provider', json({}, 503), 'ResourceBusy'], ['too many requests', json({}, 429), 'ResourceBusy'],
    ['a forbidden request', json({}, 403), 'ToolExecutionFailed'],
    ['a response without a list', json({ results: 'none' }), 'ToolExecutionFailed'],
    [
      'a response that is not JSON', ((_, response) => response.end('<html>')) as RequestListener,
      'ToolExecutionFailed',
    ],
    [
      'a redirect to another host',
      ((_, response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end()) as RequestListener,
      'CapabilityDenied',
    ],
  ])('fails on %s', async (_, listener, code) => {
    answer = listener
    expect((await tool.refusal({ query: 'x' })).code).toBe(code)
  })

  it.each([
    [
      'what it refused', json({ error: '"count" must be <b>at most</b> 20' }, 422),
      /^The search provider 127\.0\.0\.1:\d+ answered with status 422: \{"error":"\\"count\\" must be at most 20"\}$/,
    ],
    [
      'no reason', ((_, response) => response.writeHead(404).end()) as RequestListener,
      /status 404\. \(The operator can check the URL in the configuration\.\)$/,
    ],
    [
      'a page', ((_, response) => response.end('<html>')) as RequestListener,
      new RegExp(String.raw`^The response of the search provider 127\.0\.0\.1:\d+ is not JSON\. `
        + String.raw`\(The operator can check the URL in the configuration\.\)$`),
    ],
    [
      'another form', json({ found: [] }),
      /no list of results at \/results, .*\. \(The operator can set resultsPath\.\)$/,
    ],
    ['a long reason', json({ error: 'x'.repeat(1_000) }, 422), /status 422: .{300,301}$/],
  ])('says what is wrong if the provider answers with %s', async (_, listener, message) => {
    answer = listener
    expect((await tool.refusal({ query: 'x' })).message).toMatch(message)
  })

  it('stops when the call is cancelled', async () => {
    const cancel = new AbortController()
    answer = () => cancel.abort(new Error('enough'))
    await expect(tool.call({ query: 'x' }, cancel.signal)).rejects.toThrow('enough')
  })

  it('uses a fixed approval key', async () => {
    expect(await tool.key({ query: 'x' })).toBe('web_search')
  })
})

describe('web_search with a JSON API', () => {
  const tool = toolSession(
    'web_search',
    {
      session: sessionMemory(),
      secrets: new Map([['SEARCH_KEY', { value: 'the canary sings', hosts: [server.place], commands: [] }]]),
    },
    {
      bundled: {
        search: {
          providers: [
            {
              type: 'json', url: `${server.base}/v1?query={query}&n=5`, secret: 'SEARCH_KEY', resultsPath: '/data/hits',
            },
          ],
        },
      },
    },
  )

  it('reads the list at the configured path, and sends the secret of the provider', async () => {
    answer = json({ data: { hits: [{ link: 'https://a.example/', name: 'A', description: 'about A' }] } })
    expect(await tool.call({ query: 'ü?' })).toEqual({
      results: [{ url: 'https://a.example/', title: 'A', snippet: 'about A' }],
    })
    const { url, headers } = server.requests.at(-1)!
    expect([url, headers.authorization]).toEqual(['/v1?query=%C3%BC%3F&n=5', 'Bearer the canary sings'])
  })
})

describe('web_search without a provider', () => {
  const tool = toolSession('web_search', { session: sessionMemory() })
  it('fails with CapabilityUnavailable', async () => {
    expect(await tool.refusal({ query: 'x' })).toMatchObject({
      code: 'CapabilityUnavailable', message: expect.stringContaining('config.json'),
    })
  })
})

describe('search providers', () => {
  const providers = ['https://a.example/s', 'https://b.example:8443/?q={query}', 'http://[::1]:80/'].map((url) => ({
    type: 'json' as const, url,
  }))

  it('stay the same within a session and are distributed over sessions', () => {
    const services = providers.map(serviceOf)
    const choose = () => Array.from({ length: 300 }, (_, i) => serviceFor(`session-${i}`, services)!.url)
    expect(choose()).toEqual(choose())
    for (const { url } of providers) expect(choose().filter((one) => one === url).length).toBeGreaterThan(50)
    expect(serviceFor('x', [])).toBeUndefined()
  })

  it('are the only hosts of the tool, and receive only their own secrets', () => {
    expect(providers.map((one) => hostOf(serviceOf(one)))).toEqual(['a.example', 'b.example:8443', '[::1]'])
    const { tools, secrets } = manifestSchema.parse(
      createBundledExtensions({
        search: {
          providers: [
            { ...providers[0]!, secret: 'A' }, { ...providers[1]!, secret: 'B' }, providers[2]!,
            { type: 'brave', secret: 'C' },
          ],
          timeoutMs: 5_000,
        },
      }).find(({ manifest }) => manifest.id === 'web-search')!.manifest,
    )
    expect(tools[0]!.requires.net).toEqual({ hosts: ['a.example', 'b.example:8443', '[::1]', 'api.search.brave.com'] })
    expect(tools[0]!.timeoutMs).toBe(5_000)
    expect(secrets).toEqual([
      { name: 'A', hosts: ['a.example'] }, { name: 'B', hosts: ['b.example:8443'] },
      { name: 'C', hosts: ['api.search.brave.com'] },
    ])
  })
})
