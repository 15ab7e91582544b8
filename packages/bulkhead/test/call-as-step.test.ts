import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ToolError } from '@bulkhead/contract'
import {
  callAsStep, createHost, defineTool, openSqliteStore, type Host, type Session, type StepCall,
} from '../src/index.ts'
import { CACHE } from './cache.ts'

let folder: string
let host: Host
let session: Session
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-step-')) })
afterEach(async () => {
  await host.close()
  rmSync(folder, { recursive: true, force: true })
})

const runs = () => existsSync(join(folder, 'runs')) ? readFileSync(join(folder, 'runs'), 'utf8') : ''

/** A host with a tool that counts its runs in a file, and ends as it is asked to. */
async function open(keeps = true): Promise<void> {
  const store = keeps ? await openSqliteStore({ file: join(folder, 'bulkhead.db') }) : undefined
  host = await createHost({
    workspace: folder, home: join(folder, 'home'), cache: CACHE, trust: 'declined', env: {}, ...(store && { store }),
    config: { retries: { attempts: 3, jitterMs: 1 } },
  })
  await host.register(defineTool({
    name: 'run', description: 'Runs.', mode: 'external', approvalKey: '{how}', effects: 'none',
    input: { type: 'object', required: ['how'], properties: { how: { enum: ['well', 'busy', 'wrong', 'slow'] } } },
    async execute({ how }, runtime) {
      appendFileSync(join(folder, 'runs'), '.')
      if (how === 'busy') throw new ToolError('ResourceBusy', 'It is busy.')
      if (how === 'slow') await new Promise((resolve) => { runtime.signal.addEventListener('abort', resolve) })
      return { how }
    },
  }))
  session = await host.openSession({ mode: 'yolo' })
}

const stepCall = (how: string, idempotencyKey = how): StepCall =>
  ({ id: idempotencyKey, name: 'run', arguments: { how }, idempotencyKey })

it('a step that runs again gets the recorded outcome, and its tool does not run', async () => {
  await open()
  const first = await callAsStep(session, stepCall('well'))
  const second = await callAsStep(session, stepCall('well'))
  expect([first, second]).toMatchObject([{ type: 'output' }, { type: 'output', metadata: { replayed: true } }])
  expect(runs()).toBe('.')
})

it('a transient error makes the engine run the step again, and the host tries it once', async () => {
  await open()
  await expect(callAsStep(session, stepCall('busy'))).rejects.toMatchObject({ name: 'StepError', retryable: true })
  expect(runs()).toBe('.')
  await expect(callAsStep(session, stepCall('busy'))).rejects.toMatchObject({ retryable: true })
  expect(runs()).toBe('..')
})

it('an error that a model should read is the result of the step', async () => {
  await open()
  const outcome = await callAsStep(session, stepCall('nonsense'))
  expect(outcome).toMatchObject({ type: 'error', error: { code: 'InputInvalid' } })
})

it('a step that its host ended can run again, and one that the engine cancelled cannot', async () => {
  await open()
  const cancelled = new AbortController()
  const byEngine = callAsStep(session, stepCall('slow', 'a'), { signal: cancelled.signal })
  const byHost = callAsStep(session, stepCall('slow', 'b'))
  await expect.poll(runs).toBe('..')
  cancelled.abort()
  await expect(byEngine).rejects.toMatchObject({ code: 'ToolCancelled', retryable: false })
  const closed = session.close()
  await expect(byHost).rejects.toMatchObject({ code: 'SessionCancelled', retryable: true })
  await closed
})

it('a host without a store and a call without a key are refused before anything runs', async () => {
  await open(false)
  await expect(callAsStep(session, stepCall('well'))).rejects.toMatchObject({ code: 'ConfigInvalid', retryable: false })
  const { idempotencyKey: _key, ...without } = stepCall('well')
  const refused = callAsStep(session, without as StepCall)
  await expect(refused).rejects.toMatchObject({ code: 'InputInvalid', retryable: false })
  expect(runs()).toBe('')
})

it('an unknown outcome is none to record, and none to repeat', async () => {
  await open()
  const metadata = { call_id: 'x', tool: 'run', origin: null, duration_ms: 0, attempt: 0, replayed: true } as const
  const error = { code: 'OutcomeUnknown', class: 'Session', retryable: false } as const
  // Its host died, and the next one recorded this under its key: see the tests of interrupted calls.
  const settled = { call: async () => ({ type: 'error', error_text: 'Unknown.', error, metadata }) as const }
  const refused = callAsStep(settled, stepCall('well'))
  await expect(refused).rejects.toMatchObject({ code: 'OutcomeUnknown', retryable: false })
})
