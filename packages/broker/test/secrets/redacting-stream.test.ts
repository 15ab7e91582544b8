import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { SearchTerm, RedactingStream } from '../../src/secrets/redaction.ts'

const streamOf = (texts: readonly string[], counts = () => true): RedactingStream =>
  new RedactingStream(texts.map((text) => new SearchTerm(Buffer.from(text), counts)), Buffer.from('#'))

function redact(texts: readonly string[], chunks: readonly string[]): string {
  const stream = streamOf(texts)
  return Buffer.concat([...chunks.map((chunk) => stream.push(Buffer.from(chunk))), stream.end()]).toString()
}

/**
 * Marks each letter that is covered, looking at the whole text at once; then one mark for each stretch of an overlap.
 */
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

describe('the redacting stream', () => {
  it.each<[string, readonly string[], readonly string[], string]>([
    ['replaces a term in the middle', ['secret'], ['a secret!'], 'a #!'],
    ['replaces a term that chunks split', ['secret'], ['a se', 'cr', 'et!'], 'a #!'],
    ['replaces a term in one-byte chunks', ['secret'], [...'xsecrety'], 'x#y'],
    ['keeps a partial match', ['secret'], ['secre', 'x'], 'secrex'],
    ['keeps the beginning of a term at the end', ['secret'], ['sec'], 'sec'],
    ['replaces adjacent terms one by one', ['secret'], ['secretsecret'], '##'],
    ['replaces a term after a false start', ['aab'], ['aa', 'ab'], 'a#'],
    ['replaces the longer of two terms with the same beginning', ['abcd', 'abcdefgh'], ['xabcd', 'efghx'], 'x#x'],
    ['replaces the shorter term if the longer does not follow', ['abcd', 'abcdefgh'], ['xabcd', 'efx'], 'x#efx'],
    ['replaces overlapping terms once', ['abcX', 'Xdef'], ['abcX', 'def'], '#'],
    ['replaces touching terms one by one', ['abc', 'def'], ['abcdef'], '##'],
    ['replaces a term inside another once', ['abcdef', 'cd'], ['abcdef'], '#'],
    ['passes everything on without terms', [], ['abc'], 'abc'],
    ['passes an empty stream on', ['abc'], [], ''],
  ])('%s', (_, texts, chunks, out) => {
    expect(redact(texts, chunks)).toBe(out)
    expect(oracle(texts, chunks.join(''))).toBe(out)
  })

  it('gives the same result for every chunking, and agrees with an oracle', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 5 })
    const chunks = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6 }), { maxLength: 8 })
    fc.assert(fc.property(fc.array(text, { minLength: 1, maxLength: 3 }), chunks, (texts, pieces) => {
      expect(redact(texts, pieces)).toBe(oracle(texts, pieces.join('')))
    }), { numRuns: thoroughly(2_000, 10_000) })
  })

  it('gives the same result if terms and chunks contain line ends', () => {
    const letters = fc.constantFrom('a', 'b', '\n')
    const texts = fc.array(fc.string({ unit: letters, minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 })
    const chunks = fc.array(fc.string({ unit: letters, maxLength: 6 }), { maxLength: 8 })
    fc.assert(fc.property(texts, chunks, (sought, pieces) => {
      expect(redact(sought, pieces)).toBe(oracle(sought, pieces.join('')))
    }), { numRuns: thoroughly(1_000, 5_000) })
  })

  it('buffers the same number of bytes for all terms of one length', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 8, maxLength: 8 })
    const chunks = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c', '\n'), maxLength: 12 }), { maxLength: 12 })
    fc.assert(fc.property(text, text, chunks, (one, other, pieces) => {
      fc.pre(![one, other].some((whole) => pieces.join('').includes(whole)))
      const [first, second] = [streamOf([one]), streamOf([other])]
      for (const piece of pieces) expect(second.push(Buffer.from(piece))).toEqual(first.push(Buffer.from(piece)))
      expect(second.end()).toEqual(first.end())
    }), { numRuns: thoroughly(400, 2_000) })
  })

  it('passes whole lines on at once, and of an unfinished line all but the length of the longest term', () => {
    const stream = streamOf(['0123456789', 'x'])
    const pushed = (text: string): string => stream.push(Buffer.from(text)).toString()
    expect(['data: 01', '23\n\nda', 'ta: 012345678', '\n'].map(pushed))
      .toEqual(['', 'data: 0123\n\n', 'data:', ' 012345678\n'])
    expect(pushed('-'.repeat(100_000))).toHaveLength(100_000 - 10)
    const spanning = streamOf(['01234\n6789'])
    expect(spanning.push(Buffer.from('one\ntwo\n01234\n')).toString()).toBe('one\n')
    expect(Buffer.concat([spanning.push(Buffer.from('6789\n')), spanning.end()]).toString()).toBe('two\n#\n')
  })

  it('replaces nothing before a term counts, even in an open stream', () => {
    let used = false
    const stream = streamOf(['secret'], () => used)
    expect(stream.push(Buffer.from('secret\nsec')).toString()).toBe('secret\n')
    used = true
    expect(stream.push(Buffer.from('ret\n')).toString()).toBe('#\n')
  })
})
