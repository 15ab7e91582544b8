import { expect, test } from 'vitest'
import type { SessionOptions } from '../../src/index.ts'
import { openedWith, resumedOptions } from '../../src/sessions/resumption.ts'
import { MemoryStore } from '../twin/store.ts'
import { createWorld } from '../twin/world.ts'

const ALLOW = () => undefined

test('stores the options that are data, and the names of those that can deny a call', () => {
  const options: SessionOptions = {
    principal: { id: 'ada', attributes: { team: 'x' } }, mode: 'allowlist', budget: { calls: 3, tokens: Infinity },
    interactor: { interact: () => new Promise(() => undefined) }, guards: [ALLOW], hooks: [],
    signal: new AbortController().signal,
  }
  const opened = openedWith(options, 0)
  expect(opened).toEqual({
    principal: 'ada', openedAt: '1970-01-01T00:00:00.000Z', code: ['guards'],
    options: { mode: 'allowlist', budget: { calls: 3 } },
  })
})

test('a session that had guards is not resumed without them', async () => {
  const store = new MemoryStore()
  const first = createWorld({ store, extensions: [] })
  const session = await first.host.openSession({ guards: [ALLOW] })
  await session.call({ id: 'none', name: 'none', arguments: {} })
  await session.release()
  const { host } = createWorld({ store, extensions: [] })
  const resume = (options?: object) => host.resumeSession(session.id, options)
  await expect(resume()).rejects.toMatchObject({ code: 'ConfigInvalid', data: { path: '/guards' } })
  const wider = { guards: [ALLOW], mode: 'yolo' }
  await expect(resume(wider)).rejects.toMatchObject({ code: 'ConfigInvalid' })
  const resumed = await host.resumeSession(session.id, { guards: [ALLOW] })
  expect(resumed.id).toBe(session.id)
  await resumed.close()
  await expect(host.resumeSession(session.id, { guards: [ALLOW] })).rejects.toMatchObject({ code: 'NotFound' })
})

test('passed options count for what is code only', () => {
  const record = { id: 's', code: [], options: { mode: 'ask' } }
  const approver = { approve: async () => ({ decision: 'reject' as const }) }
  expect(resumedOptions(record, { approver })).toEqual({ mode: 'ask', approver })
})
