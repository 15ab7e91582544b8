import { expect, test } from 'vitest'
import { freezeDeep } from '../../../src/calls/hooks.ts'

test('nothing in it can be changed any more, and it is still the same', () => {
  const value = { list: [1, { a: 'x' }], none: null }
  expect(freezeDeep(value)).toBe(value)
  expect(() => value.list.push(2)).toThrow(TypeError)
  expect(() => Object.assign(value.list[1]!, { a: 'y' })).toThrow(TypeError)
  expect([freezeDeep('text'), freezeDeep(null), freezeDeep(undefined)]).toEqual(['text', null, undefined])
})
