import { expect, test } from 'vitest'
import { withinTime } from '../../../src/extensions/schema-checks.ts'

test('what ends in time gives what it gives, or throws what it throws', () => {
  expect(withinTime(() => 7, 10_000)).toEqual({ value: 7 })
  expect(() => withinTime(() => { throw new RangeError('own') }, 10_000)).toThrow(new RangeError('own'))
})

test('what would never end is ended, and nothing of it is left for the next', () => {
  expect(withinTime(() => { for (;;); }, 50)).toBeUndefined()
  expect(withinTime(() => 'next', 10_000)).toEqual({ value: 'next' })
})
