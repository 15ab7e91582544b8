import { expect, it } from 'vitest'
import { framed, FrameReader } from '../src/loads/framed-text.ts'

it.each([1, 3, 7, 1_000])('reads framed strings from chunks of %i bytes', (piece) => {
  const texts = ['', 'a', 'grüße', 'x'.repeat(5_000), '\u{1f600}']
  const bytes = Buffer.concat(texts.map(framed))
  const read: string[] = []
  const reader = new FrameReader((text) => void read.push(text))
  for (let at = 0; at < bytes.length; at += piece) reader.push(bytes.subarray(at, at + piece))
  expect(read).toEqual(texts)
})
