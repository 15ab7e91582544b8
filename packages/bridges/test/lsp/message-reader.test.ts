import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { framed, MessageReader } from '../../src/lsp/message-reader.ts'

it('reads messages however their bytes are split', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 6 }), fc.array(fc.integer({ min: 1, max: 9 })),
      (texts, sizes) => {
        const bytes = Buffer.from(texts.map(framed).join(''))
        const reader = new MessageReader()
        const read: string[] = []
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % Math.max(1, sizes.length)] ?? bytes.length
          read.push(...reader.read(bytes.subarray(at, at + size)))
          at += size
        }
        expect(read).toEqual(texts)
      },
    ),
  )
})

it('accepts further headers, in any case', () => {
  const text = 'Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-LENGTH:2\r\n\r\n{}'
  expect(new MessageReader().read(Buffer.from(text))).toEqual(['{}'])
})

it.each([
  ['a length beyond the limit', 'Content-Length: 16777217\r\n\r\n', /more than 16777216 bytes/],
  ['a length that is no number', 'Content-Length: -1\r\n\r\n', /no Content-Length/],
  ['a header without a length', 'X-Content-Length: 5\r\n\r\n', /no Content-Length/],
  ['a header without an end', 'x'.repeat(4_096), /does not begin a message/],
])('refuses %s', (_, text, message) => {
  expect(() => new MessageReader().read(Buffer.from(text))).toThrow(new RegExp(message))
})
