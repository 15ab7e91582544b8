import { expect, it } from 'vitest'
import { readDocument } from '../../../src/openapi/reading/document-pool.ts'
import { run } from '../../../src/openapi/reading/read-document.ts'
import { ALL, document } from './read.ts'

/** In a thread, which takes long to start. */
const reading = (text: string, readMs?: number) => readDocument({ name: 'a', text, parts: [], wanted: ALL }, readMs)
const readHere = (text: string) => run({ name: 'a', text, parts: [], wanted: ALL })

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
  expect(readHere(JSON.stringify(document({ '/x': { get: { operationId: 'go' } } })))).toMatchObject({
    ok: true, api: { operations: [{ operationId: 'go' }] },
  })
  expect(await reading(YAML)).toMatchObject({ ok: true, api: { operations: [{ operationId: 'list' }] } })
})

const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
  .split('')
  .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[index]}`).join(',')}]`)
  .join('\n')}\n`

it('does not follow references to files', () => {
  expect(readHere('{"openapi":"3.1.0","paths":{"/x":{"$ref":"file:///etc/passwd"}}}')).toMatchObject({
    ok: true, api: { faults: [expect.stringContaining('outside the document')] },
  })
})

it('rejects a YAML bomb', () => {
  expect(readHere(bomb)).toEqual({ ok: false, message: expect.any(String) })
})

it.each([
  ['incomplete JSON', '{"openapi":'], ['incomplete YAML', 'a: [b'], ['plain text', 'hello'], ['an empty file', ''],
  ['a duplicate key', 'openapi: 3.0.0\nopenapi: 3.1.0\n'],
  ['a recursive alias', 'openapi: 3.1.0\npaths: &a\n  /x: *a\n'],
  ['very deep YAML', `${'- '.repeat(20_000)}a`], ['very deep JSON', '['.repeat(100_000)],
  ['the key __proto__', '{"openapi":"3.1.0","__proto__":{}}'],
  ['the key __proto__ in YAML', 'openapi: 3.1.0\n__proto__: { a: 1 }\n'], ['two documents', 'a: 1\n---\nb: 2\n'],
])('rejects %s', (_, text) => {
  expect(readHere(text)).toEqual({ ok: false, message: expect.any(String) })
})

it('reads JSON to a depth, and a number of aliases', () => {
  const nested = (depth: number) => readHere(`{"openapi":"3.1.0","x":${'['.repeat(depth)}${']'.repeat(depth)}}`)
  expect([nested(60).ok, nested(70).ok]).toEqual([true, false])
  const aliases = (count: number) => readHere(`openapi: 3.1.0\nx: &x y\nz: [${'*x,'.repeat(count)}]\n`)
  expect([aliases(1_000).ok, aliases(1_001).ok]).toEqual([true, false])
})

it('stops after a timeout', async () => {
  expect(
    await reading(
      `{"openapi":"3.1.0","paths":{${Array.from({ length: 200_000 }, (_, index) => `"/${index}":{}`).join(',')}}}`, 1,
    ),
  ).toEqual({ ok: false, message: 'could not be read: it took longer than 1 ms' })
})
