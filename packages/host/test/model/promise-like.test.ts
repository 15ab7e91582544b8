import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { isPromiseLike } from '../../src/model/promise-like.ts'

test.each<[string, unknown, boolean]>([
  ['a promise', Promise.resolve(), true],
  ['a promise of another realm', runInNewContext('Promise.resolve()'), true],
  ['a promise of another library', { then: () => {} }, true],
  ['nothing', undefined, false],
  ['null', null, false],
  ['false', false, false],
  ['an answer', { action: 'deny', then: 'no' }, false],
])('%s', (_, answer, expected) => {
  expect(isPromiseLike(answer)).toBe(expected)
})
