import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RedactingStream } from '../../src/main/broker/secrets/redacting-stream.ts'

function redact(texts: readonly string[], chunks: readonly string[]): string {
  const stream = new RedactingStream(texts.map((text) => Buffer.from(text)), Buffer.from('#'))
  return Buffer.concat([...chunks.map((chunk) => stream.push(Buffer.from(chunk))), stream.end()]).toString()
}

/** Marks each letter that is covered, looking at the whole text at once; then one mark for each stretch of an overlap. */
function oracle(texts: readonly string[], whole: string): string {
  const spans = [...whole].flatMap((_, at) =>
    texts.filter((text) => whole.startsWith(text, at)).map((text) => [at, at + text.length] as const))
  let out = ''
  let until = 0
  for (let at = 0; at < whole.length; at++) {
    const longest = Math.max(0, ...spans.filter(([start]) => start === at).map(([, end]) => end))
    if (longest > 0 && at >= until) out += '#'
    until = Math.max(until, longest)
    if (at >= until) out += whole[at]
  }
  return out
}

describe('taking texts out of a stream', () => {
  it.each<[string, readonly string[], readonly string[], string]>([
    ['one in the middle', ['secret'], ['a secret!'], 'a #!'],
    ['cut by chunks', ['secret'], ['a se', 'cr', 'et!'], 'a #!'],
    ['each letter by itself', ['secret'], [...'xsecrety'], 'x#y'],
    ['nearly one', ['secret'], ['secre', 'x'], 'secrex'],
    ['the beginning of one at the end', ['secret'], ['sec'], 'sec'],
    ['several', ['secret'], ['secretsecret'], '##'],
    ['a false start inside one', ['aab'], ['aa', 'ab'], 'a#'],
    ['one that is the beginning of another', ['abcd', 'abcdefgh'], ['xabcd', 'efghx'], 'x#x'],
    ['one that is the beginning of another, which does not come', ['abcd', 'abcdefgh'], ['xabcd', 'efx'], 'x#efx'],
    ['two that overlap', ['abcX', 'Xdef'], ['abcX', 'def'], '#'],
    ['two that touch', ['abc', 'def'], ['abcdef'], '##'],
    ['one within another', ['abcdef', 'cd'], ['abcdef'], '#'],
    ['nothing to look for', [], ['abc'], 'abc'],
    ['nothing at all', ['abc'], [], ''],
  ])('%s', (_, texts, chunks, out) => {
    expect(redact(texts, chunks)).toBe(out)
    expect(oracle(texts, chunks.join(''))).toBe(out)
  })

  it('gives the same wherever the chunks are cut, and what an independent reading gives', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 5 })
    const chunks = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6 }), { maxLength: 8 })
    fc.assert(fc.property(fc.array(text, { minLength: 1, maxLength: 3 }), chunks, (texts, pieces) => {
      expect(redact(texts, pieces)).toBe(oracle(texts, pieces.join('')))
    }), { numRuns: 10_000 })
  })

  it('keeps back less than the longest text', () => {
    const stream = new RedactingStream([Buffer.from('0123456789')], Buffer.from('#'))
    let [pushed, out] = [0, 0]
    for (let round = 0; round < 1_000; round++) {
      const chunk = Buffer.from('01234'.slice(0, 1 + round % 5))
      pushed += chunk.length
      out += stream.push(chunk).length
      expect(pushed - out).toBeLessThan(10)
    }
  })

  it('is not slowed down by what looks like a text for long', () => {
    const begun = performance.now()
    const stream = new RedactingStream([Buffer.from(`${'a'.repeat(4_000)}b`)], Buffer.from('#'))
    for (let round = 0; round < 50; round++) stream.push(Buffer.alloc(64 * 1024, 'a'))
    stream.end()
    expect(performance.now() - begun).toBeLessThan(10_000)
  })
})
