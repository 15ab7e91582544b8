import fc from 'fast-check'
import { expect, it } from 'vitest'
import { LEFT_OUT } from '@bulkhead/kit/text'
import { BothEnds, BoundedOutput } from '../../src/shell/output.ts'

/** Adds bytes in arbitrary chunks. */
function feed(output: Pick<BoundedOutput, 'add'>, bytes: Buffer, cuts: readonly number[]): void {
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b)
  ends.reduce((from, end) => {
    output.add(bytes.subarray(from, end))
    return end
  }, 0)
}

const texts = fc.string({ unit: fc.constantFrom('a', 'é', '漢', '🚢', '\0', '\n') })
const cuts = fc.array(fc.nat(), { maxLength: 8 })

it('gives the same text for every chunking', () => {
  fc.assert(fc.property(texts, cuts, (text, where) => {
    const output = new BoundedOutput(10_000)
    feed(output, Buffer.from(text), where)
    expect(output.text()).toBe(text)
    expect(output.truncated).toBe(false)
  }))
})

it('keeps the longest head that fits and does not end inside a character', () => {
  fc.assert(fc.property(texts, cuts, fc.integer({ min: 0, max: 40 }), (text, where, limit) => {
    const output = new BoundedOutput(limit)
    feed(output, Buffer.from(text), where)
    let head = ''
    for (const character of text) {
      if (Buffer.byteLength(head + character) > limit) break
      head += character
    }
    expect(output.text()).toBe(head)
    expect(output.truncated).toBe(head !== text)
  }))
})

it('keeps both ends, and does not cut inside a character', () => {
  fc.assert(fc.property(texts, cuts, fc.integer({ min: 8, max: 40 }), (text, where, limit) => {
    const output = new BothEnds(limit)
    feed(output, Buffer.from(text), where)
    const half = Math.ceil(limit / 2)
    expect(output.truncated).toBe(Buffer.byteLength(text) > 2 * half)
    if (!output.truncated) {
      expect(output.text()).toBe(text)
      return
    }
    const [head, tail] = output.text().split(LEFT_OUT)
    expect([text.startsWith(head!), text.endsWith(tail!)]).toEqual([true, true])
    for (const end of [head!, tail!]) {
      expect(Buffer.byteLength(end)).toBeLessThanOrEqual(half)
      expect(Buffer.byteLength(end)).toBeGreaterThan(half - 4)
    }
  }))
})

it('decodes invalid UTF-8 like TextDecoder', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), cuts, (bytes, where) => {
    const output = new BoundedOutput(10_000)
    feed(output, Buffer.from(bytes), where)
    expect(output.text()).toBe(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  }))
})

it('returns the kept part of each chunk', () => {
  const output = new BoundedOutput(5)
  expect(['abc', 'defg', 'h'].map((piece) => String(output.add(Buffer.from(piece))))).toEqual(['abc', 'de', ''])
})
