import { expect, it } from 'vitest'
import { previewDiff } from '../../src/fs/preview.ts'
import { temporaryFolder, toolOf } from '../fixture.ts'

it.each([
  ['50 files', 53, 'new\n', 50],
  ['64 KB, and the file that exceeds it', 6, 'a line of text\n'.repeat(2_500), 2],
])('shows the diffs of at most %s, and counts the others', async (_, count, content, shown) => {
  const workspace = await temporaryFolder()
  const { grant } = toolOf('writer', { fs: { write: ['**'] } }, workspace)
  const writes = Array.from({ length: count }, (__, index) => ({ path: `f${index}`, content }))
  const diff = await previewDiff(writes, grant, workspace, {})
  expect(diff.match(/^\+\+\+ b\/f/gm)).toHaveLength(shown)
  expect(diff).toMatch(new RegExp(`\\[The diffs of ${count - shown} more files are not shown\\.\\]\\n$`))
})
