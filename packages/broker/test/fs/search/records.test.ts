import { expect, it } from 'vitest'
import { Splitter } from '../../../src/fs/search/records.ts'

const MB = 1024 * 1024

it('a record that never ends is kept up to 16 MB, and the one after it is read', () => {
  const lengths: number[] = []
  const splitter = new Splitter('\n', (piece) => lengths.push(piece.length) > 0)
  const chunk = Buffer.alloc(MB, 'a')
  for (let sent = 0; sent < 40; sent++) splitter.add(chunk)
  splitter.add(Buffer.from('end\nnext\n'))
  expect(lengths).toEqual([17 * MB + 'end'.length, 'next'.length])
})
