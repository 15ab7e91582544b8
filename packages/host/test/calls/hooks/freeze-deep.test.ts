import { expect, test } from 'vitest'
import { freezeDeep } from '../../../src/calls/hooks.ts'

test('a frozen value cannot be changed, and stays the same object', () => {
  const value = { list: [1, { a: 'x' }], none: null }
  expect(freezeDeep(value)).toBe(value)
  expect(() => value.list.push(2)).toThrow(TypeError)
  expect(() => Object.assign(value.list[1]!, { a: 'y' })).toThrow(TypeError)
  expect([freezeDeep('text'), freezeDeep(null), freezeDeep(undefined)]).toEqual(['text', null, undefined])
})
