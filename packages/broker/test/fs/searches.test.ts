import { expect, it } from 'vitest'
import { temporaryFolder } from '../fixture.ts'
import { codeOf, openFs, put } from './setup.ts'

it.each(
  ['glob', 'find', 'search'] as const,
)('stops %s when its call ends, even while it is awaited', async (method) => {
  const workspace = await temporaryFolder()
  await put(workspace, ...Array.from({ length: 50 }, (_, index) => `folder${index}/file${index}.txt`))
  const { fs, endCall, beside, close } = openFs(workspace, { read: ['**'] })
  const other = beside()
  const pattern = method === 'search' ? 'x' : '**/*'
  const [mine, theirs] = [codeOf(fs[method](pattern)), other.fs[method](pattern)]
  endCall()
  expect(await mine).toBe('ToolCancelled')
  await theirs
  // Closing the compartment stops it too, without a cancellation.
  const last = codeOf(other.fs[method](pattern))
  await close()
  expect(await last).toBe('ToolCancelled')
})
