import { expect, it } from 'vitest'
import { mayLoad } from '../src/index.ts'

const SEEN = 'a'.repeat(128)
const OTHER = 'b'.repeat(128)

it.each([
  ['trusted', SEEN, true], ['once', SEEN, true], ['declined', SEEN, false],
  ['trusted', OTHER, false], ['once', OTHER, false], ['declined', OTHER, false],
] as const)('a layer under "%s" is used only with the content of the decision', (trust, layer, may) => {
  expect(mayLoad(layer, { trust, projectDigest: SEEN })).toBe(may)
})

it('an embedder can trust or decline any content', () => {
  expect(mayLoad(OTHER, { trust: 'once', projectDigest: 'any' })).toBe(true)
  expect(mayLoad(OTHER, { trust: 'declined', projectDigest: 'any' })).toBe(false)
})

it('a request without a digest is rejected', () => {
  expect(mayLoad(SEEN, { trust: 'trusted' } as never)).toBe(false)
})
