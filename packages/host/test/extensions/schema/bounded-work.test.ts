import { expect, test } from 'vitest'
import { withinTime } from '../../../src/extensions/schema-checks.ts'

test('work that ends in time returns its result or its error', () => {
  expect(withinTime(() => 7, 10_000)).toEqual({ value: 7 })
  expect(() => withinTime(() => { throw new RangeError('own') }, 10_000)).toThrow(new RangeError('own'))
})

test('work that never ends is stopped, and does not affect the next', () => {
  expect(withinTime(() => { for (;;); }, 50)).toBeUndefined()
  expect(withinTime(() => 'next', 10_000)).toEqual({ value: 'next' })
})
