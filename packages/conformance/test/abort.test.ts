import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Sandbox } from '@bulkhead/contract'
import { packFolder } from '@bulkhead/loader'
import { createSandbox } from '@bulkhead/sandbox'
import { expect, it, onTestFinished } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { ABORT_REQUIREMENTS, observeAbort } from '../src/abort.ts'
import { Patience } from '../src/patience.ts'
import { GOOD } from './examples/good.ts'
import { writeExample } from './examples/package-of.ts'

/** Its first call ends when it is cancelled, unless the configuration lets it hang. The next one ends at once. */
const SLOW = `let calls = 0
let hangs = false
export default {
  init: ({ config }) => { hangs = config.hangs },
  tools: { shout: { execute: (args, { signal }) => ++calls > 1 ? 'NEXT' : new Promise((done) => {
    if (hangs) return
    if (signal.aborted) done('LATE')
    else signal.addEventListener('abort', () => done('LATE'))
  }) } },
}`

/** The checks that fail if the tool is killed in these compartments, by number. The first one is only started. */
async function failuresIfKilledIn(...killed: readonly number[]): Promise<readonly string[]> {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-abort-')))
  onTestFinished(() => rmSync(workspace, { recursive: true }))
  const example = { ...Object.values(GOOD)[0]!, code: SLOW }
  const loader = { coreVersion: '1.0.0', roots: { global: null }, bundled: [] }
  const { extension } = await packFolder(writeExample(join(workspace, 'example'), example), { loader })
  const sandbox = createSandbox({ workspace, spares: { process: 0, thread: 0 } })
  onTestFinished(() => sandbox.close())
  let count = 0
  const open: Sandbox['open'] = (request) => {
    const hangs = killed.includes(++count)
    return sandbox.open({ ...request, config: { hangs }, limits: { ...request.limits, graceMs: hangs ? 1 : 60_000 } })
  }
  const target = {
    extension, sandbox: { open, close: sandbox.close }, workspace, patience: new Patience(), called: new Map(),
  }
  const facts = await observeAbort(target, { calls: [], reliable: [] })
  return ABORT_REQUIREMENTS.filter(({ check }) => check(facts)).map(({ id }) => id)
}

it('cancels a tool again that was killed: the machine may have been too busy for it', LONG, async () => {
  expect(await failuresIfKilledIn(2, 4)).toEqual([])
})

it('finds a tool that is killed each time', async () => {
  expect(await failuresIfKilledIn(2, 3)).toEqual(['abort'])
  expect(await failuresIfKilledIn(3, 4)).toEqual(['deadline'])
})
