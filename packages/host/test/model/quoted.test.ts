import fc from 'fast-check'
import { expect, test } from 'vitest'
import { quoted } from '../../src/model/quoted.ts'

test('a text as JSON, whatever stands in it', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
    expect(quoted(text)).toBe(JSON.stringify(text))
  }))
  for (const text of ['', 'call_1', '"', '\\', '\0', '\u007f', '\ud800', 'é', 'x'.repeat(500)]) expect(quoted(text)).toBe(JSON.stringify(text))
})
