import fc from 'fast-check'
import { expect, it } from 'vitest'
import { headAndTail, LEFT_OUT } from '../src/text.ts'

const texts = fc.string({ unit: fc.constantFrom('a', 'é', '漢', '🚢', '\n'), maxLength: 300 })

it('keeps both ends of a text, within the limit and without cutting a character', () => {
  fc.assert(fc.property(texts, fc.integer({ min: 0, max: 200 }), (text, limit) => {
    const shown = headAndTail(text, limit)
    expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(limit)
    if (Buffer.byteLength(text) <= limit) {
      expect(shown).toBe(text)
      return
    }
    const [head, tail = ''] = shown.split(LEFT_OUT)
    expect([text.startsWith(head!), text.endsWith(tail)]).toEqual([true, true])
    // No more than a character is lost at each cut.
    if (shown.includes(LEFT_OUT)) expect(Buffer.byteLength(shown)).toBeGreaterThan(limit - 8)
  }))
})
