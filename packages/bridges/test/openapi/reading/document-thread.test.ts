import { expect, it } from 'vitest'
import { readDocument } from '../../../src/openapi/reading/document-thread.ts'
import { ALL, document } from './read.ts'

const reading = (text: string, readMs?: number) => readDocument({ text, wanted: ALL }, readMs)

const YAML = `
openapi: 3.0.3
info: { title: Shop, version: '1' }
paths:
  /orders:
    get:
      operationId: list
      responses:
        200: { description: All of them }
`

it('reads JSON and YAML', async () => {
  expect(await reading(JSON.stringify(document({ '/x': { get: { operationId: 'go' } } })))).toMatchObject({ ok: true, api: { operations: [{ operationId: 'go' }] } })
  expect(await reading(YAML)).toMatchObject({ ok: true, api: { operations: [{ operationId: 'list' }] } })
})

const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'.split('').map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[index]}`).join(',')}]`).join('\n')}\n`

it('reads nothing but what it was given', async () => {
  expect(await reading('{"openapi":"3.1.0","paths":{"/x":{"$ref":"file:///etc/passwd"}}}')).toMatchObject({ ok: true, api: { faults: [expect.stringContaining('which is never fetched')] } })
})

it.each([
  ['half a JSON', '{"openapi":'], ['half a YAML', 'a: [b'], ['a text', 'hello'], ['nothing', ''], ['two keys of one name', 'openapi: 3.0.0\nopenapi: 3.1.0\n'],
  ['what grows as it is read', bomb], ['itself inside', 'openapi: 3.1.0\npaths: &a\n  /x: *a\n'], ['very deep JSON', '['.repeat(100_000)], ['very deep YAML', `${'- '.repeat(100_000)}a`],
  ['a prototype', '{"openapi":"3.1.0","__proto__":{}}'], ['a prototype in YAML', 'openapi: 3.1.0\n__proto__: { a: 1 }\n'], ['two documents', 'a: 1\n---\nb: 2\n'],
])('%s is refused, and nothing is left of it', async (_, text) => {
  expect(await reading(text)).toEqual({ ok: false, message: expect.any(String) })
})

it('what takes too long is ended', async () => {
  expect(await reading(`{"openapi":"3.1.0","paths":{${Array.from({ length: 200_000 }, (_, index) => `"/${index}":{}`).join(',')}}}`, 1)).toEqual({ ok: false, message: 'is not read after 1 ms' })
})
