import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import type { Json } from '@bulkhead/kit/json'
import type { SearchProvider } from '../service.ts'
import { serve } from '../../../test/loopback.ts'
import { sessionMemory } from '../../../test/memory.ts'
import { toolSession } from '../../../test/tool-session.ts'

const KEY = 'the canary sings'
let answer: Json
let sent: {
  readonly method: string | undefined
  readonly url: URL
  readonly headers: IncomingMessage['headers']
  readonly body: string
}
const server = await serve(async (request, response) => {
  sent = {
    method: request.method, url: new URL(`https://${request.headers.host}${request.url}`), headers: request.headers,
    body: await text(request),
  }
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
})
const port = Number(server.place.split(':')[1])

/** The server answers for the real host of the provider. */
const toolOf = (provider: SearchProvider, host: string) => toolSession('web_search', {
  session: sessionMemory(), secrets: new Map([['KEY', { value: KEY, hosts: [host], commands: [] }]]),
}, { bundled: { search: { providers: [provider] } }, dryRun: { port, used: () => {} } })
const query = 'rust & "wasm"'
const results = [
  { title: 'Rust and WebAssembly', url: 'https://rustwasm.example/book/', snippet: 'A small book about both.' },
]

describe('web_search with Brave', () => {
  const tool = toolOf({ type: 'brave', secret: 'KEY' }, 'api.search.brave.com')
  it('asks and reads in the documented form', async () => {
    answer = {
      type: 'search', query: { original: query, more_results_available: true },
      mixed: { type: 'mixed', main: [{ type: 'web', index: 0, all: false }] },
      web: {
        type: 'search', family_friendly: true,
        results: [
          {
            type: 'search_result', subtype: 'generic', title: 'Rust and <strong>WebAssembly</strong>',
            url: 'https://rustwasm.example/book/', description: 'A small book about both.', is_source_local: false,
            language: 'en', profile: { name: 'Rustwasm', url: 'https://rustwasm.example/' }, extra_snippets: ['more'],
          },
        ],
      },
    }
    expect(await tool.call({ query, max_results: 3 })).toEqual({ results })
    expect(sent.method).toBe('GET')
    expect(sent.url.origin + sent.url.pathname).toBe('https://api.search.brave.com/res/v1/web/search')
    expect(Object.fromEntries(sent.url.searchParams)).toEqual({ q: query, count: '3', text_decorations: 'false' })
    expect(sent.headers).toMatchObject({ 'x-subscription-token': KEY, 'accept': 'application/json' })
  })

  it('finds nothing if the response has no web results', async () => {
    answer = { type: 'search', query: { original: query } }
    expect(await tool.call({ query })).toEqual({ results: [] })
  })
})

describe('web_search with Tavily', () => {
  const tool = toolOf({ type: 'tavily', secret: 'KEY' }, 'api.tavily.com')
  it('asks and reads in the documented form', async () => {
    answer = {
      query, answer: null, images: [], follow_up_questions: null, response_time: 1.67, request_id: '123e4567',
      results: [
        {
          title: 'Rust and WebAssembly', url: 'https://rustwasm.example/book/', content: 'A small book about both.',
          score: 0.81, raw_content: null, favicon: 'https://rustwasm.example/i.png',
        },
      ],
    }
    expect(await tool.call({ query, max_results: 3 })).toEqual({ results })
    expect([sent.method, sent.url.href]).toEqual(['POST', 'https://api.tavily.com/search'])
    expect(sent.headers).toMatchObject({ 'authorization': `Bearer ${KEY}`, 'content-type': 'application/json' })
    expect(JSON.parse(sent.body)).toEqual({ query, max_results: 3 })
  })
})

describe('web_search with Exa', () => {
  const tool = toolOf({ type: 'exa', secret: 'KEY' }, 'api.exa.ai')
  it('asks and reads in the documented form', async () => {
    answer = {
      requestId: 'b5947044', searchType: 'auto', costDollars: { total: 0.005 },
      results: [
        {
          id: 'https://rustwasm.example/book/', title: 'Rust and WebAssembly', url: 'https://rustwasm.example/book/',
          publishedDate: '2024-11-16T01:36:32.547Z', author: 'A. Author', highlights: ['A small book', 'about both.'],
          highlightScores: [0.4, 0.3],
        },
        { id: 'x', title: null, url: 'https://b.example/' },
      ],
    }
    expect(await tool.call({ query, max_results: 3 })).toEqual({
      results: [
        { ...results[0], snippet: 'A small book … about both.' },
        { title: '', url: 'https://b.example/', snippet: '' },
      ],
    })
    expect([sent.method, sent.url.href]).toEqual(['POST', 'https://api.exa.ai/search'])
    expect(sent.headers).toMatchObject({ 'x-api-key': KEY, 'content-type': 'application/json' })
    expect(JSON.parse(sent.body)).toEqual({ query, numResults: 3, contents: { highlights: true } })
  })
})

describe('web_search with Google', () => {
  const tool = toolOf(
    { type: 'google-cse', secret: 'KEY', engine: '017576662512468239146:omuauf_lfve' }, 'www.googleapis.com',
  )
  it('asks and reads in the documented form, for at most ten results', async () => {
    const item = {
      kind: 'customsearch#result', title: 'Rust and WebAssembly', htmlTitle: 'Rust and <b>WebAssembly</b>',
      link: 'https://rustwasm.example/book/', displayLink: 'rustwasm.example', snippet: 'A small book about both.',
      htmlSnippet: 'A small book', formattedUrl: 'https://rustwasm.example/book/', pagemap: {},
    }
    answer = {
      kind: 'customsearch#search', url: { type: 'application/json', template: 'https://www.googleapis.com/…' },
      queries: { request: [{ totalResults: '1' }] }, searchInformation: {}, items: [item],
    }
    expect(await tool.call({ query, max_results: 20 })).toEqual({ results })
    expect(sent.method).toBe('GET')
    expect(sent.url.origin + sent.url.pathname).toBe('https://www.googleapis.com/customsearch/v1')
    expect(Object.fromEntries(sent.url.searchParams)).toEqual({
      key: KEY, cx: '017576662512468239146:omuauf_lfve', q: query, num: '10',
    })
  })

  it('finds nothing if the response has no items', async () => {
    answer = { kind: 'customsearch#search', searchInformation: { totalResults: '0' } }
    expect(await tool.call({ query })).toEqual({ results: [] })
  })
})

describe('web_search with SearXNG', () => {
  const tool = toolOf({ type: 'searxng', url: 'https://searx.example' }, 'searx.example')
  it('asks and reads in the documented form', async () => {
    answer = {
      query, number_of_results: 0, answers: [], corrections: [], infoboxes: [], suggestions: [],
      unresponsive_engines: [],
      results: [
        {
          url: 'https://rustwasm.example/book/', title: 'Rust and WebAssembly', content: 'A small book about both.',
          engine: 'brave', engines: ['brave'], parsed_url: ['https', 'rustwasm.example', '/book/', '', '', ''],
          template: 'default.html', positions: [1], score: 1, category: 'general',
        },
      ],
    }
    expect(await tool.call({ query })).toEqual({ results })
    expect(sent.url.origin + sent.url.pathname).toBe('https://searx.example/search')
    expect(Object.fromEntries(sent.url.searchParams)).toEqual({ format: 'json', q: query })
  })
})

describe('the secret of a provider', () => {
  const tool = toolOf({ type: 'tavily', secret: 'KEY' }, 'api.tavily.com')
  it('is not in the results, even if the provider echoes it', async () => {
    answer = { results: [{ title: `You sent ${KEY}`, url: 'https://a.example/', content: KEY }] }
    expect(JSON.stringify(await tool.call({ query }))).not.toContain(KEY)
  })
})

describe('a provider that refuses the secret', async () => {
  const refusing = await serve((_, response) => response.writeHead(401).end('{}'))
  const tool = toolSession('web_search', {
    session: sessionMemory(), secrets: new Map([['KEY', { value: KEY, hosts: [refusing.place], commands: [] }]]),
  }, { bundled: { search: { providers: [{ type: 'json', url: refusing.base, secret: 'KEY' }] } } })
  it('is reported with the name of the secret', async () => {
    expect(await tool.refusal({ query })).toMatchObject({
      code: 'ToolExecutionFailed',
      message: expect.stringMatching(/status 401\. \(The operator can check the value of KEY\.\)$/),
    })
  })
})
