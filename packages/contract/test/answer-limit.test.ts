import { expect, test } from 'vitest'
import { limitWords, readAnswerLimit, untilWords } from '../src/index.ts'

const at = (hour: number, minute = 0): number => new Date(2026, 0, 5, hour, minute).getTime()

test.each<[string, object | undefined]>([
  ['17:00', { until: new Date(at(17)).toISOString() }], [' 9:05 ', undefined],
  ['10:00', undefined], ['01:30', undefined], ['30 min', { until: new Date(at(10, 30)).toISOString() }],
  ['2h', { until: new Date(at(12)).toISOString() }],
  ['5 times', { uses: 5 }], ['1 time', { uses: 1 }], ['3x', { uses: 3 }],
  ['0 times', undefined], ['25:00', undefined], ['5', undefined], ['', undefined], ['17:00 tomorrow', undefined],
])('%j at ten is %j', (text, limit) => {
  expect(readAnswerLimit(text, at(10))).toEqual(limit)
})

test('late in the evening a time after midnight is meant', () => {
  expect(readAnswerLimit('00:30', at(23))).toEqual({ until: new Date(2026, 0, 6, 0, 30).toISOString() })
})

test('a time is shown with its zone', () => {
  const until = new Date(at(17)).toISOString()
  expect(untilWords(until)).toBe(`until 2026-01-05 17:00 (${Intl.DateTimeFormat().resolvedOptions().timeZone})`)
  expect(limitWords({ until, uses: 5 })).toBe(`${untilWords(until)}, at most 5 times`)
  expect(limitWords({})).toBe('')
})
