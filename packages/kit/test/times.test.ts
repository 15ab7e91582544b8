import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { durationInWords, localTime, localZone, readTime, TIME_FORMS } from '../src/times.ts'

const zone = process.env['TZ']
beforeEach(() => { process.env['TZ'] = 'Europe/Berlin' })
afterEach(() => {
  if (zone === undefined) delete process.env['TZ']
  else process.env['TZ'] = zone
})

/** A Thursday, 10:30 in Berlin. */
const NOW = new Date('2026-11-19T09:30:00Z')
const read = (text: string, atEnd = false) => readTime(text, NOW, atEnd)?.toISOString()

describe('a time as people write it', () => {
  it.each([
    ['9:00', '2026-11-19T08:00:00.000Z'], ['10:30:01', '2026-11-18T09:30:01.000Z'],
    ['23:00', '2026-11-18T22:00:00.000Z'],
    ['today', '2026-11-18T23:00:00.000Z'], ['yesterday', '2026-11-17T23:00:00.000Z'],
    ['2026-11-18', '2026-11-17T23:00:00.000Z'], ['2026-11-18 09:00', '2026-11-18T08:00:00.000Z'],
    ['2026-11-18T09:00:30', '2026-11-18T08:00:30.000Z'], ['2026-11-18T09:00Z', '2026-11-18T09:00:00.000Z'],
    ['2026-11-18T09:00:00.123456+05:30', '2026-11-18T03:30:00.123Z'],
    ['2h', '2026-11-19T07:30:00.000Z'], ['90s', '2026-11-19T09:28:30.000Z'], ['1w', '2026-11-12T09:30:00.000Z'],
    ['999999w', '1970-01-01T00:00:00.000Z'],
  ])('%s is %s', (text, expected) => expect(read(text)).toBe(expected))

  it.each([
    '', 'soon', '25:00', '9:60', '2026-13-01', '2026-02-30', '2026-11-18T25:00', '-2h', '2 hours', '1e3s', '20261118',
  ])('%j is none', (text) => expect(read(text)).toBeUndefined())

  it('is the end of a day, if a range ends with it', () => {
    expect([read('yesterday', true), read('2026-11-18', true)]).toEqual(Array(2).fill('2026-11-18T22:59:59.999Z'))
    const [start, end] = [readTime('2026-10-25', NOW)!, readTime('2026-10-25', NOW, true)!]
    expect(end.getTime() - start.getTime()).toBe(25 * 3_600_000 - 1)
  })

  it('has every form that a message names', () => {
    for (const form of TIME_FORMS.replace(' ago', '').split(/, | or /)) expect(read(form), form).toBeDefined()
  })
})

it('a time is shown in the local zone, without the day if that is today', () => {
  expect(localTime(NOW)).toBe('2026-11-19 10:30:00')
  expect(localTime(NOW, new Date('2026-11-19T01:00:00Z'))).toBe('10:30:00')
  expect(localTime(NOW, new Date('2026-11-20T01:00:00Z'))).toBe('2026-11-19 10:30:00')
  expect(localZone(NOW)).toBe('GMT+1')
})

it('a duration is shown in words', () => {
  expect([0, 250.4, 4_210, 61_000, 125_000, 8 * 3_600_000, 3 * 86_400_000].map(durationInWords))
    .toEqual(['0 ms', '250 ms', '4.2 s', '61 s', '2 min', '8 h', '3 d'])
})
