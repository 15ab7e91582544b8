import type { DirectoryEntry } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { expandPattern } from '../../run/file-names.ts'

it('a pattern matches at most 10 000 files', async () => {
  const expand = (count: number) => {
    const entry = (_: unknown, index: number) => ({ name: `f${index}`, kind: 'file' }) as DirectoryEntry
    const list = async () => Array.from({ length: count }, entry)
    return expandPattern({ text: '*', pattern: [{ kind: 'star' }] }, '.', { list })
  }
  expect(await expand(10_000)).toHaveLength(10_000)
  await expect(expand(10_001)).rejects.toMatchObject({
    code: 'InputInvalid', message: 'The pattern * matches more than 10000 files. Use a narrower pattern.',
  })
})
