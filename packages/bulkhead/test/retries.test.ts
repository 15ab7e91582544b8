import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createHost } from '../src/index.ts'
import { IN_THREADS, writeExtension } from './extension-folder.ts'

const CODE = `
import { ToolError } from '@bulkhead/contract'
let calls = 0
const failing = (error) => ({ execute: () => { if (calls++ % 2 === 0) throw error(); return calls } })
export default { tools: {
  reads: failing(() => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })),
  reports: failing(() => new ToolError('ToolExecutionFailed', 'It is wrong.')),
} }
`

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-retries-')) })
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('an exception in a compartment is retried, a reported failure is not', async () => {
  const home = join(folder, 'home')
  writeExtension(home, { id: 'flaky', tools: [{ name: 'reads' }, { name: 'reports' }] }, CODE)
  const host = await createHost({
    workspace: folder, home, config: IN_THREADS,
  })
  const session = await host.openSession({ mode: 'yolo' })
  const outcomes = []
  for (const name of ['reads', 'reports'])
    outcomes.push(await session.call({ id: crypto.randomUUID(), name, arguments: {} }))
  await host.close()
  expect(outcomes).toMatchObject([
    { type: 'output', data: 2, metadata: { attempt: 2 } },
    { error: { code: 'ToolExecutionFailed' }, error_text: 'It is wrong.', metadata: { attempt: 1 } },
  ])
})
