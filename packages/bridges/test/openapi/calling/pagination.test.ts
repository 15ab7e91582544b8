import { expect, it } from 'vitest'
import { nextPage, pageHint } from '../../../src/openapi/calling/pagination.ts'
import { operation } from '../reading/read.ts'

const list = (...names: string[]) => operation({
  parameters: names.map((name) => ({ name, in: 'query', schema: { type: name === 'page' ? 'integer' : 'string' } })),
}, {}, 'get').operations[0]!

it('names the parameters of pages', () => {
  expect(pageHint(list('page', 'per_page', 'q'))).toBe('Returns one page: `page` selects it; `per_page` sets its size.')
  expect(pageHint(list('starting_after', 'ending_before', 'limit'))).toBe(
    'Returns one page: `starting_after` or `ending_before` selects it; `limit` sets its size.',
  )
  expect(pageHint(list('cursor'))).toBe('Returns one page: `cursor` selects it.')
  expect([pageHint(list('limit')), pageHint(operation({}).operations[0]!)]).toEqual(['', ''])
})

const FROM = 'https://shop.example/v1/x/7?page=1'
it.each([
  ['</v1/x/7?page=2&q=a%20b>; rel="next", </v1/x/7?page=9>; rel="last"', { arguments: { page: 2, q: 'a b' } }],
  [
    '</v1/x/7?page=1>; rel="first prev", <https://shop.example/v1/x/7?page=3>;title="a,b"; rel=next',
    { arguments: { page: 3 } },
  ],
  ['</v1/x/7?page=x>; rel="next"', { arguments: { page: 'x' } }],
  ['<https://shop.example/v1/x/7?page=2&secret=1>; rel="next"', { url: 'https://shop.example/v1/x/7?page=2&secret=1' }],
  ['<https://evil.example/\u202e>; rel="next"', { url: 'https://evil.example/%E2%80%AE' }],
  ['</v1/x/7?page=2>; rel="nextish"', undefined], ['<http://[>; rel="next"', undefined], ['', undefined],
  [`<${'x'.repeat(3_000)}>; rel="next"`, undefined],
])('reads the next page of %j', (link, next) => {
  expect(nextPage(link, FROM, list('page', 'q'))).toEqual(next)
})

it('reads 8 KB of the header', () => {
  const after = (length: number) => nextPage(`${','.repeat(length)}, </v1/x/7?page=2>; rel="next"`, FROM, list('page'))
  expect([after(8_000), after(8_192)]).toEqual([{ arguments: { page: 2 } }, undefined])
})
