import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { requestOf } from '../request.ts'
import { serviceOf, type SearchProvider } from '../service.ts'

const SECRET = '{{secret:KEY:0123456789abcdefghijkl}}'
const request = (provider: SearchProvider, query = 'x', max_results = 5) =>
  requestOf(serviceOf(provider), { query, max_results, secret: SECRET })
const custom = { type: 'json', url: 'https://s.example/find?lang=en' } as const

describe('a search request', () => {
  it.each<[SearchProvider, string, string]>([
    [{ type: 'searxng', url: 'https://s.example' }, 'x', 'https://s.example/search?format=json&q=x'],
    [
      { type: 'searxng', url: 'https://s.example/search/?language=en' }, 'x',
      'https://s.example/search?language=en&format=json&q=x',
    ],
    [
      { type: 'searxng', url: 'https://s.example/search?q=old&format=html' }, 'x',
      'https://s.example/search?format=json&q=x',
    ],
    [
      { type: 'searxng', url: 'https://s.example/s?f=json&query={query}' }, 'a b',
      'https://s.example/s?f=json&query=a%20b',
    ],
    [custom, 'a b', 'https://s.example/find?lang=en&q=a%20b'],
    [
      { ...custom, url: 'https://s.example/{query}/{query}?n={max_results}' }, '../x',
      'https://s.example/..%2Fx/..%2Fx?n=5',
    ],
    [
      { ...custom, query: { 'the query': '{query}', 'n': '{max_results}', 'site': 'a&b' } }, '&n=9#{max_results}',
      'https://s.example/find?lang=en&the%20query=%26n%3D9%23%7Bmax_results%7D&n=5&site=a%26b',
    ],
    [
      { ...custom, query: { k: 'v {secret}' }, secret: 'KEY' }, 'x',
      `https://s.example/find?lang=en&k=v%20${SECRET}&q=x`,
    ],
  ])('%j asks for %j at %s', (provider, query, url) => {
    expect(request(provider, query)).toMatchObject({ url, method: 'GET' })
  })

  it('has a JSON body whose structure no query can change', () => {
    const provider: SearchProvider = {
      ...custom,
      body: { q: 'about {query}', n: '{max_results}', s: 'up to {max_results}', deep: [{ a: '{query}' }, null, true] },
    }
    const { method, headers, body } = request(provider, '", "n": 9, "{max_results} $& $1')
    expect({ method, headers, body: JSON.parse(body as string) }).toEqual({
      method: 'POST', headers: { 'accept': 'application/json', 'content-type': 'application/json' },
      body: {
        q: 'about ", "n": 9, "{max_results} $& $1', n: 5, s: 'up to 5',
        deep: [{ a: '", "n": 9, "{max_results} $& $1' }, null, true],
      },
    })
  })

  it('sends the secret where the headers or the query say, otherwise as bearer', () => {
    expect(request({ ...custom, secret: 'KEY' }).headers).toMatchObject({ authorization: `Bearer ${SECRET}` })
    expect(
      request({ ...custom, secret: 'KEY', headers: { 'X-Key': 'k={secret}', 'Accept': 'text/json' } }).headers,
    ).toEqual({ 'accept': 'text/json', 'x-key': `k=${SECRET}` })
    expect(request({ ...custom, secret: 'KEY', query: { key: '{secret}' } }).headers).not.toHaveProperty(
      'authorization',
    )
    expect(request(custom).headers).not.toHaveProperty('authorization')
  })

  it('keeps every query inside its parameter', () => {
    fc.assert(fc.property(fc.oneof(fc.string({ unit: 'grapheme', minLength: 1 }), fc.constant('a\ud800b')), (query) => {
      const { url } = request({ ...custom, query: { a: '{query}', b: '1' } }, query)
      expect([...new URL(url).searchParams]).toEqual([['lang', 'en'], ['a', query.toWellFormed()], ['b', '1']])
    }))
  })
})
