import { expect, it } from 'vitest'
import { textOfContent, textOfData } from '../../src/dialects/reading.ts'

it('shows a string unchanged and other data as JSON', () => {
  expect([textOfData('a "b"'), textOfData(1), textOfData(null), textOfData({ a: [true] })])
    .toStrictEqual(['a "b"', '1', 'null', '{"a":[true]}'])
})

it('joins the text blocks, and is undefined without one', () => {
  const image = { type: 'image', data: 'AA==', mimeType: 'image/png' } as const
  expect(textOfContent([{ type: 'text', text: 'a' }, image, { type: 'text', text: '' }])).toBe('a\n')
  expect(textOfContent([image])).toBeUndefined()
})
