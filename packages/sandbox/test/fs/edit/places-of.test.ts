import fc from 'fast-check'
import { expect, it } from 'vitest'
import { placesOf } from '../../../src/main/broker/fs/edit/places-of.ts'

/** One question to the platform for each place. */
function askedOneByOne(sought: Buffer, content: Buffer, most: number): readonly number[] {
  const places: number[] = []
  for (let at = content.indexOf(sought); at >= 0 && places.length < most; at = content.indexOf(sought, at + 1)) places.push(at)
  return places
}

it('finds what the platform finds, those that overlap too', () => {
  const few = fc.constantFrom('a', 'b', 'ab', 'aab')
  const textOf = (least: number, most: number) => fc.array(few, { minLength: least, maxLength: most }).map((parts) => Buffer.from(parts.join('')))
  fc.assert(fc.property(textOf(1, 6), textOf(0, 200), fc.nat(20), (sought, content, most) => {
    expect(placesOf(sought, content, most)).toEqual(askedOneByOne(sought, content, most))
  }), { numRuns: 2_000 })
  fc.assert(fc.property(textOf(60, 120), textOf(0, 9), fc.nat(3), (sought, between, times) => {
    const content = Buffer.concat([between, ...Array.from({ length: times }, () => [sought, between]).flat(), sought.subarray(0, -1)])
    expect(placesOf(sought, content, 100)).toEqual(askedOneByOne(sought, content, 100))
  }), { numRuns: 500 })
})
