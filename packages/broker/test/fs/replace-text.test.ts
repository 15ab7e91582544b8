import fc from 'fast-check'
import { expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { offsetsOf, type OffsetsOptions } from '../../src/fs/edit-file.ts'

/** The oracle: one indexOf per occurrence. */
function askedOneByOne(sought: Buffer, content: Buffer, { most, overlapping }: OffsetsOptions): readonly number[] {
  const places: number[] = []
  const step = overlapping ? 1 : sought.length
  let at = content.indexOf(sought)
  while (at >= 0 && places.length < most) {
    places.push(at)
    at = content.indexOf(sought, at + step)
  }
  return places
}

it('agrees with indexOf, with and without overlaps', () => {
  const few = fc.constantFrom('a', 'b', 'ab', 'aab')
  const textOf = (least: number, most: number) => fc.array(few, { minLength: least, maxLength: most })
    .map((parts) => Buffer.from(parts.join('')))
  const options = fc.record({ most: fc.nat(20), overlapping: fc.boolean() })
  fc.assert(fc.property(textOf(1, 6), textOf(0, 200), options, (sought, content, asked) => {
    expect(offsetsOf(sought, content, asked)).toEqual(askedOneByOne(sought, content, asked))
  }), { numRuns: thoroughly(400, 2_000) })
  fc.assert(fc.property(textOf(60, 120), textOf(0, 9), options, (sought, between, asked) => {
    const content = Buffer.concat([
      between, ...Array.from({ length: 3 }, () => [sought, between]).flat(), sought.subarray(0, -1),
    ])
    expect(offsetsOf(sought, content, asked)).toEqual(askedOneByOne(sought, content, asked))
  }), { numRuns: thoroughly(100, 500) })
})
