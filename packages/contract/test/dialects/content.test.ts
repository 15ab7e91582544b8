import { expect, it } from 'vitest'
import { textOfContent, textOfData } from '../../src/dialects/reading.ts'

it('shows a text as it is and anything else as JSON', () => {
  expect([textOfData('a "b"'), textOfData(1), textOfData(null), textOfData({ a: [true] })])
    .toStrictEqual(['a "b"', '1', 'null', '{"a":[true]}'])
})

it('joins the texts of blocks, and knows when there is none', () => {
  const image = { type: 'image', data: 'AA==', mimeType: 'image/png' } as const
  expect(textOfContent([{ type: 'text', text: 'a' }, image, { type: 'text', text: '' }])).toBe('a\n')
  expect(textOfContent([image])).toBeUndefined()
})
