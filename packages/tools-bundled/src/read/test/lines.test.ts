import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { collectLines, linesOfText } from '../text.ts'

async function* pieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
const collect = (text: string, range: Partial<Parameters<typeof collectLines>[1]> = {}, size = 3) =>
  collectLines(pieces(text, size), { from: 1, limit: Infinity, maxBytes: 1e6, ...range })

describe('collectLines()', () => {
  it.each([
    ['an empty file', '', { text: '', from: 1, to: 0, total: 0 }],
    ['a last line without a newline', 'a\nb', { text: 'a\nb', from: 1, to: 2, total: 2 }],
    ['a last line with a newline', 'a\nb\n', { text: 'a\nb\n', from: 1, to: 2, total: 2 }],
    ['both kinds of line endings', 'a\r\nb\n\nc', { text: 'a\r\nb\n\nc', from: 1, to: 4, total: 4 }],
  ])('reads %s', async (_, text, lines) => {
    expect(await collect(text)).toEqual(lines)
  })

  it('returns a range and counts all lines', async () => {
    expect(await collect('1\n2\n3\n4\n', { from: 2, limit: 2 })).toEqual({ text: '2\n3\n', from: 2, to: 3, total: 4 })
    expect(await collect('1\n2\n', { from: 5 })).toEqual({ text: '', from: 5, to: 4, total: 2 })
  })

  it('stops counting at the byte limit, but not before the range is complete', async () => {
    expect(await collect('1\n2\n3\n4\n', { limit: 1, countBytes: 4 }, 1)).toEqual({ text: '1\n', from: 1, to: 1 })
    expect(await collect('1\n2\n3\n4\n', { from: 3, limit: 1, countBytes: 1 }, 1)).toEqual({
      text: '3\n', from: 3, to: 3,
    })
    expect(await collect('1\n2\n', { limit: 1, countBytes: 4 }, 1)).toEqual({ text: '1\n', from: 1, to: 1, total: 2 })
  })

  it('cuts after a line, or between characters if a line is too long', async () => {
    expect(await collect('ab\ncd\nef', { maxBytes: 4 })).toEqual({ text: 'ab\n', from: 1, to: 1, total: 3 })
    expect(await collect('ab\ncd\nef', { maxBytes: 6 })).toEqual({ text: 'ab\ncd\n', from: 1, to: 2, total: 3 })
    expect(await collect('aé€😀', { maxBytes: 8 })).toEqual({
      text: 'aé€', from: 1, to: 1, total: 1, cut: { from: 0, to: 6 },
    })
    expect(await collect('ab\ncdef\n', { from: 2, maxBytes: 2 })).toEqual({
      text: 'cd', from: 2, to: 2, total: 2, cut: { from: 3, to: 5 },
    })
  })

  it('has the same result for all chunk sizes', async () => {
    const text = 'zürich\r\n€uro\n\n😀😀\nend'
    const whole = await collect(text, {}, 1e6)
    for (const size of [1, 2, 3, 4, 5, 7]) expect(await collect(text, {}, size)).toEqual(whole)
    expect(whole.text).toBe(text)
  })

  it('agrees with linesOfText()', async () => {
    const text = fc
      .array(fc.constantFrom('a', '\n', '\r\n', 'é', '€', '😀', 'two words'), { maxLength: 12 })
      .map((parts) => parts.join(''))
    const range = fc.record({
      from: fc.integer({ min: 1, max: 6 }), limit: fc.constantFrom(1, 2, 3, Number.MAX_SAFE_INTEGER),
      maxBytes: fc.integer({ min: 1, max: 40 }),
    })
    await fc.assert(fc.asyncProperty(text, range, fc.integer({ min: 1, max: 9 }), async (whole, asked, size) => {
      expect(linesOfText(whole, asked)).toEqual(await collect(whole, asked, size))
    }), { numRuns: thoroughly(400, 2_000) })
  })
})
