import type { Json } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { applyUpdates } from '../../src/fs/apply-updates.ts'
import { FileScope } from '../../src/fs/file-scope.ts'
import { readUpdates } from '../../src/fs/update-request.ts'
import { temporaryFolder } from '../fixture.ts'

const MB = 1024 * 1024
const added = (path: string, content: string): Json => ({ path, before: null, after: ['text', content] })

it.each([
  ['1,001 files', Array.from({ length: 1_001 }, (_, index) => added(`f${index}`, '')), 'at most 1000 files'],
  ['a file of more than 8 MB', [added('a', 'é'.repeat(4 * MB + 1))], '"a" would have more than'],
  ['a text of more than 16 MB', [added('a', 'a'.repeat(16 * MB + 1))], 'the content of "a" must be a string'],
])('an update is refused for %s', (_, given, message) => {
  expect(() => readUpdates(given)).toThrow(message)
})

it('an update may reach its limits', () => {
  expect(readUpdates(Array.from({ length: 1_000 }, (_, index) => added(`f${index}`, '')))).toHaveLength(1_000)
  expect(readUpdates([added('a', 'a'.repeat(8 * MB))])[0]!.after).toHaveLength(8 * MB)
})

it('new content of all files together has a limit', async () => {
  const workspace = await temporaryFolder()
  const scope = new FileScope('fs.write', [workspace], workspace)
  const part = Buffer.alloc(8 * MB)
  const updates = [part, part, part, part, Buffer.alloc(1)].map((after, index) =>
    ({ path: `f${index}`, before: null, after, executable: undefined, like: undefined }))
  await expect(applyUpdates({ read: scope, write: scope }, updates, { record: undefined }))
    .rejects.toThrow(`"the files" would have ${32 * MB + 1} bytes`)
})
