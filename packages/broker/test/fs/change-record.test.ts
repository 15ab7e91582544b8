import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { fileState } from '../../src/fs/change-record.ts'

it('has the digest of each content, also of one like the last', () => {
  const sizes = [0, 1, 64 * 1024, 64 * 1024 + 1, 4 * 1024 * 1024 + 1]
  const contents = sizes.flatMap((size) => ['a', 'b', 'b', 'a'].map((char) => Buffer.alloc(size, char)))
  for (const bytes of contents) {
    const digest = createHash('sha256').update(bytes).digest('hex')
    expect(fileState(bytes, 0o100644)).toEqual({ kind: 'file', digest, size: bytes.length, mode: 0o644 })
  }
})
