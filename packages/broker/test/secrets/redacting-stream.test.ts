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

describe('taking texts out of a stream', () => {
  it.each<[string, readonly string[], readonly string[], string]>([
    ['one in the middle', ['secret'], ['a secret!'], 'a #!'],
    ['cut by chunks', ['secret'], ['a se', 'cr', 'et!'], 'a #!'],
    ['single letters', ['secret'], [...'xsecrety'], 'x#y'],
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
    }), { numRuns: thoroughly(2_000, 10_000) })
  })

  it('gives the same where texts and chunks have line ends', () => {
    const letters = fc.constantFrom('a', 'b', '\n')
    const texts = fc.array(fc.string({ unit: letters, minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 })
    const chunks = fc.array(fc.string({ unit: letters, maxLength: 6 }), { maxLength: 8 })
    fc.assert(fc.property(texts, chunks, (sought, pieces) => {
      expect(redact(sought, pieces)).toBe(oracle(sought, pieces.join('')))
    }), { numRuns: thoroughly(1_000, 5_000) })
  })

  it('keeps back as much whatever the texts are, when they are of one length', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 8, maxLength: 8 })
    const chunks = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c', '\n'), maxLength: 12 }), { maxLength: 12 })
    fc.assert(fc.property(text, text, chunks, (one, other, pieces) => {
      fc.pre(![one, other].some((whole) => pieces.join('').includes(whole)))
      const [first, second] = [streamOf([one]), streamOf([other])]
      for (const piece of pieces) expect(second.push(Buffer.from(piece))).toEqual(first.push(Buffer.from(piece)))
      expect(second.end()).toEqual(first.end())
    }), { numRuns: thoroughly(400, 2_000) })
  })

  it('hands whole lines on at once, and of a line without end all but the length of the longest text', () => {
    const stream = streamOf(['0123456789', 'x'])
    const pushed = (text: string): string => stream.push(Buffer.from(text)).toString()
    expect(['data: 01', '23\n\nda', 'ta: 012345678', '\n'].map(pushed)).toEqual(['', 'data: 0123\n\n', 'data:', ' 012345678\n'])
    expect(pushed('-'.repeat(100_000))).toHaveLength(100_000 - 10)
    const spanning = streamOf(['01234\n6789'])
    expect(spanning.push(Buffer.from('one\ntwo\n01234\n')).toString()).toBe('one\n')
    expect(Buffer.concat([spanning.push(Buffer.from('6789\n')), spanning.end()]).toString()).toBe('two\n#\n')
  })

  it('takes nothing out before a text counts, also in a stream that was open by then', () => {
    let used = false
    const stream = streamOf(['secret'], () => used)
    expect(stream.push(Buffer.from('secret\nsec')).toString()).toBe('secret\n')
    used = true
    expect(stream.push(Buffer.from('ret\n')).toString()).toBe('#\n')
  })
})
