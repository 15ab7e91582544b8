import { expect, it } from 'vitest'
import { textOfBlock, textOfContent, textOfData } from '../../src/dialects/reading.ts'

it('shows a string unchanged and other data as JSON', () => {
  expect([textOfData('a "b"'), textOfData(1), textOfData(null), textOfData({ a: [true] })])
    .toStrictEqual(['a "b"', '1', 'null', '{"a":[true]}'])
})

it('joins the texts of blocks, and is undefined without one', () => {
  const image = { type: 'image', data: 'AA==', mimeType: 'image/png' } as const
  expect(textOfContent([{ type: 'text', text: 'a' }, image, { type: 'text', text: '' }])).toBe('a\n')
  expect(textOfContent([image])).toBeUndefined()
  expect(textOfContent([
    { type: 'audio', data: 'AA==', mimeType: 'audio/wav' }, { type: 'resource', uri: 'file:///a', text: 'inside' },
    { type: 'resource', uri: 'file:///b', blob: 'AA==' }, { type: 'resource_link', uri: 'file:///c', name: 'c' },
  ])).toBe('[audio of type audio/wav]\ninside\n[binary resource file:///b]\nc: file:///c')
  expect(textOfBlock(image)).toBe('[image of type image/png]')
})
