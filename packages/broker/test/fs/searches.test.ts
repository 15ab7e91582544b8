import { expect, it } from 'vitest'
import { temporaryFolder } from '../fixture.ts'
import { codeOf, openFs, put } from './ground.ts'

it.each(['glob', 'find', 'search'] as const)('%s ends with its call, also while it is awaited', async (method) => {
  const workspace = await temporaryFolder()
  await put(workspace, ...Array.from({ length: 200 }, (_, index) => `folder${index}/file${index}.txt`))
  const { fs, endCall, beside, close } = openFs(workspace, { read: ['**'] })
  const other = beside()
  const pattern = method === 'search' ? 'x' : '**/*'
  const [mine, theirs] = [codeOf(fs[method](pattern)), other.fs[method](pattern)]
  endCall()
  expect(await mine).toBe('ToolCancelled')
  await theirs
  // With the compartment too, although its host has cancelled nothing.
  const last = codeOf(other.fs[method](pattern))
  await close()
  expect(await last).toBe('ToolCancelled')
})
