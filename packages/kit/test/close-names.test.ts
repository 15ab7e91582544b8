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
])('%s', (wanted, close) => {
  expect(closeNames(wanted, names)).toEqual(close)
})

test('at most three, and nothing for a name no tool could have', () => {
  expect(closeNames('tool', ['tool1', 'tool2', 'tool3', 'tool4'])).toHaveLength(3)
  expect(closeNames('a'.repeat(10_000_000), names)).toEqual([])
})

test('as a question that goes on after a sentence, or nothing', () => {
  expect(meantNames('forcast', names)).toBe(' Did you mean "forecast" or "forecasts"?')
  expect(meantNames('zzzzzz', names)).toBe('')
})
