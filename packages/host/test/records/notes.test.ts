import { BulkheadError } from '@bulkhead/contract'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { flush } from '../twin/clock.ts'
import { loggedStore } from '../twin/logged-work.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

const call = (n: number) => ({ id: `c${n}`, name: 'echo', arguments: { n } })

/** A host whose calls are logged as they start and run. */
async function logging(log: string[], faults = {}) {
  const world = createWorld({
    store: loggedStore(log, faults), repeatsIds: false,
    extensions: [{ tools: { echo: { execute: async ({ n }) => void log.push(`run c${String(n)}`) } } }],
  })
  return { world, session: await world.host.openSession({ mode: 'yolo' }) }
}

test('a call passes the gate before it runs, and calls of one tick pass it in their order', async () => {
  const log: string[] = []
  const { world, session } = await logging(log)
  world.host.on((event) => {
    if (event.type === 'ToolInvocationStarted') log.push(`began ${event.callId}`)
  })
  await session.call(call(0))
  log.length = 0
  await Promise.all([1, 2].map((n) => session.call(call(n))))
  expect(log.slice(0, 2)).toEqual(['start c1', 'start c2'])
  expect(log.slice(2, 6).toSorted()).toEqual(['began c1', 'began c2', 'run c1', 'run c2'])
  expect(log.slice(6)).toEqual(['end c1', 'end c2'])
})

test('a call that a hook vetoes never starts', async () => {
  const log: string[] = []
  const { session } = await logging(log)
  session.addHooks({ beforeToolExecution: () => false })
  expect(verdictOf(await session.call(call(1)))).toBe('HookVetoed')
  await delay(20)
  expect(log).toEqual(['end c1'])
})

test('a call does not run where the store cannot be asked', async () => {
  const log: string[] = []
  const refused = new BulkheadError('StoreUnavailable', 'The store is away.')
  const { session } = await logging(log, { start: () => Promise.reject(refused) })
  expect(verdictOf(await session.call(call(1)))).toBe('StoreUnavailable')
  expect(log).not.toContain('run c1')
})

test('a call that is cancelled before it is sent never runs', async () => {
  const log: string[] = []
  const { session } = await logging(log)
  await session.call(call(0))
  const cancel = new AbortController()
  const pending = session.call(call(1), { signal: cancel.signal })
  cancel.abort()
  expect(verdictOf(await pending)).toBe('ToolCancelled')
  await flush()
  expect(log).not.toContain('run c1')
})
