import { describe, expect, it } from 'vitest'
import { readResults } from '../results.ts'
import { serviceOf, type SearchProvider } from '../service.ts'

const item = { url: 'https://a.example/', title: 'A', snippet: 's' }
const custom = { type: 'json', url: 'https://a.example/' } as const
const read = (answer: Parameters<typeof readResults>[0], provider: SearchProvider = custom) =>
  readResults(answer, serviceOf(provider).paths, 5)

describe('search results', () => {
  it('are found at common paths', () => {
    for (const answer of [[item], { items: [item] }, { web: { results: [item] } }, { webPages: { value: [item] } }])
      expect(read(answer)).toEqual([item])
  })

  it('are read by the pointers of the configuration', () => {
    const answer = {
      data: { 'a/b': [{ meta: { name: 'A', links: ['https://a.example/'] }, parts: ['one', 2, 'two'] }] },
    }
    expect(
      read(answer, {
        ...custom, resultsPath: '/data/a~1b', titlePath: '/meta/name', urlPath: '/meta/links/0', snippetPath: '/parts',
      }),
    ).toEqual([{ title: 'A', url: 'https://a.example/', snippet: 'one … two' }])
    expect(read([item], { ...custom, resultsPath: '', titlePath: '/none', snippetPath: '/title' })).toEqual([
      { url: item.url, title: '', snippet: 'A' },
    ])
  })

  it('do not come from inherited properties', () => {
    expect(() => read({ a: 1 }, { ...custom, resultsPath: '/constructor' })).toThrow('/constructor')
    expect(read([{ url: item.url }], { ...custom, titlePath: '/__proto__/constructor/name' })).toMatchObject([
      { title: '' },
    ])
  })

  it('may be absent only where the provider leaves out empty lists', () => {
    expect(read({ kind: 'customsearch#search' }, { type: 'google-cse', secret: 'K', engine: 'e' })).toEqual([])
    for (const answer of [{}, 'text', null]) expect(() => read(answer)).toThrow('has no list of results')
    expect(() => read('text', { type: 'brave', secret: 'K' })).toThrow('has no list of results at /web/results')
  })
})

it('no more results than asked for are read, with short titles and texts', () => {
  const long = { ...item, title: 'a '.repeat(1_000), snippet: 'b '.repeat(5_000) }
  const results = read(Array.from({ length: 9 }, () => long))
  expect(results).toHaveLength(5)
  for (const { title, snippet } of results) expect([title.length <= 301, snippet.length <= 2_001]).toEqual([true, true])
})
