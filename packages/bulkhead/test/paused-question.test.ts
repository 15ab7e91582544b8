import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createHost, openSqliteStore } from '../src/index.ts'
import { CACHE } from './cache.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-paused-')) })
afterEach(() => rmSync(folder, { recursive: true }))

async function openedSession() {
  const store = await openSqliteStore({ file: join(folder, 'host.db') })
  const host = await createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE, store })
  return { host, session: await host.openSession({ pause: true }) }
}

it('a plan survives restarts of the host, with plan mode', async () => {
  const first = await openedSession()
  await first.session.call({ id: 'p', name: 'plan', arguments: { steps: [{ step: 'Weigh anchor' }], enter: true } })
  expect(await first.session.call({ id: 'x', name: 'plan_exit', arguments: {} })).toMatchObject({
    error: { code: 'ClarificationNeeded' },
  })
  await first.host.close()

  const second = await openedSession()
  const [paused] = await second.host.pausedCalls()
  expect(Object.keys(paused!).toSorted()).toEqual(['call', 'id', 'pausedAt', 'question', 'sessionId', 'status'])
  expect(await second.session.resume(paused!.id, 'Keep planning')).toMatchObject({
    error: { code: 'ClarificationNeeded' },
  })
  expect(await second.session.call({ id: 'w', name: 'write', arguments: { path: 'a', content: '' } })).toMatchObject({
    error: { code: 'WatchdogDenied' },
  })
  await second.host.close()

  const third = await openedSession()
  expect(await third.session.resume(paused!.id, 'Name the harbour')).toMatchObject({
    data: { decision: 'keep_planning', planning: true },
  })
  expect(await third.session.call({ id: 'p', name: 'plan', arguments: {} })).toMatchObject({
    data: { steps: [{ step: 'Weigh anchor' }], planning: true },
  })
  await third.host.close()
})

it('questions of a model survive restarts of the host', async () => {
  const questions = [
    { question: 'Which harbour?', options: [{ label: 'Oslo' }, { label: 'Bergen' }] },
    { question: 'Who is on board?' },
  ]
  const first = await openedSession()
  expect(await first.session.call({ id: 'q', name: 'question', arguments: { questions } })).toMatchObject({
    error: { code: 'ClarificationNeeded' }, completion: { terminal: true, nextAction: 'clarification_needed' },
  })
  await first.host.close()

  const second = await openedSession()
  const [paused] = await second.host.pausedCalls()
  expect(paused).toMatchObject({
    status: 'clarification_needed', call: { id: 'q', name: 'question' },
    question: { kind: 'Select', prompt: expect.stringContaining('harbour') },
  })
  expect(await second.session.resume(paused!.id, 'Bergen')).toMatchObject({ error: { code: 'ClarificationNeeded' } })
  await second.host.close()

  const third = await openedSession()
  expect(await third.session.resume(paused!.id, 'Nansen')).toMatchObject({
    data: { answers: [['Bergen'], ['Nansen']] },
  })
  expect(await third.host.pausedCalls()).toEqual([])
  await third.host.close()
})
