import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createHost, createProgrammaticInteractor } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { inside } from '../command-inside.ts'
import { IN_THREADS, writeExtension } from '../extension-folder.ts'

const TOOLS = 'export default { tools: { greet: { execute: () => 1 }, echo: { execute: () => 2 } } }'

it('the question about a project lists its tools, what they hide and what is not gated', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-trusted-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const home = join(folder, 'home/.bulkhead')
  for (const layer of [home, join(folder, '.bulkhead')]) {
    writeExtension(layer, { id: 'greeter', tools: [{ name: 'greet', gated: true }, { name: 'echo' }] }, TOOLS)
  }
  const asked: string[] = []
  const interactor = createProgrammaticInteractor()
  interactor.onQuestion(({ correlationId, request }) => {
    asked.push(JSON.stringify(request))
    interactor.answer(correlationId, { status: 'rejected', reason: 'no' })
  })
  const host = await createHost({ workspace: folder, home, cache: CACHE, interactor, config: IN_THREADS })
  await host.close()
  expect(asked).toEqual([expect.stringMatching(/greet[\s\S]*echo|echo[\s\S]*greet/)])
  const { stdout } = await inside(['trust', '--status'], folder)
  for (const text of [asked[0]!, stdout]) {
    expect(text).toContain('takes the place of your greeter 1.0.0')
    expect(text).toContain('echo: nothing; declares that it needs no approval (gated: false)')
  }
})
