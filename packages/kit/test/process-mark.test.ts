import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { hasProcessMark, isUnmarked, MARK_LIMIT, markOption, newProcessMark } from '@bulkhead/kit/process-mark'

const limits = (value: string) => [
  'Limit                     Soft Limit           Hard Limit           Units     ',
  'Max locked memory         8388608              8388608              bytes     ',
  `Max file locks            ${value.padEnd(20)} ${value.padEnd(20)} locks     `,
  'Max pending signals       128000               128000               signals   ',
].join('\n')

it('finds only its own mark in the limits of a process', () => {
  const mark = newProcessMark()
  expect(hasProcessMark(limits(`${mark}`), mark)).toBe(true)
  expect(hasProcessMark(limits(`${mark}`), mark + 1)).toBe(false)
  expect(hasProcessMark(limits(`${mark}0`), mark)).toBe(false)
  expect(hasProcessMark(limits('unlimited').replace('8388608', `${mark}`), mark)).toBe(false)
  expect(hasProcessMark('', mark)).toBe(false)
})

it('detects a process without a mark', () => {
  expect(isUnmarked(limits('unlimited'))).toBe(true)
  expect(isUnmarked(limits('1099511627776'))).toBe(false)
  expect(isUnmarked('')).toBe(false)
})

it('creates random marks and the option of prlimit', () => {
  const marks = Array.from({ length: 100 }, newProcessMark)
  expect(new Set(marks).size).toBe(100)
  expect(marks.every((mark) => mark >= 2 ** 40 && mark < 2 ** 41)).toBe(true)
  expect(markOption(marks[0]!)).toBe(`--locks=${marks[0]}`)
})

it.runIf(process.platform === 'linux')('reads the limits that Linux prints', () => {
  expect(readFileSync('/proc/self/limits', 'latin1')).toContain(MARK_LIMIT)
})
