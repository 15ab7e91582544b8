import type { Json } from '@bulkhead/kit/json'
import { expect, test } from 'vitest'
import { Validators } from '../../../src/extensions/schema-checks.ts'

const check = new Validators().compile({ type: 'array', uniqueItems: true })
const fault = { path: '', keyword: 'uniqueItems', message: 'must NOT have duplicate items' }

test.each<[string, Json[]]>([
  ['texts', ['a', 'b', 'a']], ['numbers', [1, 2, 1.0]], ['nothing', [null, 1, null]],
  ['objects, whatever the order of their members', [{ a: 1, b: [2] }, 0, { b: [2], a: 1 }]],
  [
    'lists',
    [
      [1, [2]], [1, [2]],
    ],
  ],
])('equal %s are found', (_, items) => {
  expect(check(items)).toEqual(fault)
})

test.each<[string, Json[]]>([
  ['a number and its text', [1, '1']], ['a list and its text', [[1], '[1]', '"[1]"']],
  ['nothing, false, zero and no text', [null, false, 0, '']], ['objects', [{ a: 1 }, { a: 2 }, { b: 1 }, {}]],
  [
    'lists in another order',
    [
      [1, 2], [2, 1],
    ],
  ],
])('different values are not equal: %s', (_, items) => {
  expect(check(items)).toBeUndefined()
})

test('allowed duplicates are not searched for', () => {
  expect(new Validators().compile({ type: 'array', uniqueItems: false })(['a', 'a'])).toBeUndefined()
})
