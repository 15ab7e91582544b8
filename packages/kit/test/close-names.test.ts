import { expect, test } from 'vitest'
import { closeNames, meantNames } from '../src/text.ts'

const names = ['forecast', 'forecasts', 'read', 'write', 'web_fetch', 'web_search']

test.each([
  ['forcast', ['forecast', 'forecasts']],
  ['Read', ['read']],
  ['fetch', ['web_fetch']],
  ['raed', ['read']],
  ['web_serach', ['web_search']],
  ['zzzzzz', []],
  ['', []],
])('finds names close to %j', (wanted, close) => {
  expect(closeNames(wanted, names)).toEqual(close)
})

test('returns at most three names, and none for a very long name', () => {
  expect(closeNames('tool', ['tool1', 'tool2', 'tool3', 'tool4'])).toHaveLength(3)
  expect(closeNames('a'.repeat(10_000_000), names)).toEqual([])
  const long = 'a'.repeat(65)
  expect([closeNames(long, [long]), closeNames(long.slice(1), [long])]).toEqual([[], [long]])
})

test('meantNames returns a question, or an empty string', () => {
  expect(meantNames('forcast', names)).toBe(' Did you mean "forecast" or "forecasts"?')
  expect(meantNames('zzzzzz', names)).toBe('')
})
