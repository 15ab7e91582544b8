import { createHash } from 'node:crypto'
import { lstatSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { fileState, readState } from '../../src/fs/change-record.ts'
import { temporaryFolder } from '../fixture.ts'

it('has the digest of each content, also of one like the last', () => {
  const sizes = [0, 1, 64 * 1024, 64 * 1024 + 1, 4 * 1024 * 1024 + 1]
  const contents = sizes.flatMap((size) => ['a', 'b', 'b', 'a'].map((char) => Buffer.alloc(size, char)))
  for (const bytes of contents) {
    const digest = createHash('sha256').update(bytes).digest('hex')
    expect(fileState(bytes, 0o100644)).toEqual({ kind: 'file', digest, size: bytes.length, mode: 0o644 })
  }
})

it('does not read the content of a file over 32 MB', async () => {
  const path = join(await temporaryFolder(), 'long')
  writeFileSync(path, '')
  truncateSync(path, 32 * 1024 * 1024 + 1)
  const { state, content } = await readState(path, lstatSync(path))
  expect(state).toMatchObject({ digest: null, size: 32 * 1024 * 1024 + 1 })
  expect(content?.length).toBeUndefined()
})
