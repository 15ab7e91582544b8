import { expect, it } from 'vitest'
import { LineReader } from '../../../src/connected/line-reader.ts'

it('returns complete lines for any split of the input', () => {
  const bytes = Buffer.from('{"a":"ü"}\r\n\nlast\nrest')
  for (let size = 1; size <= bytes.length; size++) {
    const reader = new LineReader(100)
    const lines: string[] = []
    for (let at = 0; at < bytes.length; at += size) lines.push(...reader.read(bytes.subarray(at, at + size)))
    expect(lines).toEqual(['{"a":"ü"}', '', 'last'])
  }
})

it('rejects a line that is too long, complete or not', () => {
  expect(new LineReader(4).read(Buffer.from('1234\n5678\n'))).toEqual(['1234', '5678'])
  expect(() => new LineReader(4).read(Buffer.from('12345\n'))).toThrow(RangeError)
  const reader = new LineReader(4)
  reader.read(Buffer.from('1234'))
  expect(() => reader.read(Buffer.from('5'))).toThrow(RangeError)
})
