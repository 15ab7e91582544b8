import type { Json } from '@bulkhead/kit/json'
import { expect, test } from 'vitest'
import type { Hooks } from '../../src/index.ts'
import { flush } from '../twin/clock.ts'
import { MemoryStore } from '../twin/store.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

const HANGING = { extensions: [{ tools: { echo: { execute: () => new Promise(() => {}) } } }] }
const call = (id: string) => ({ id, name: 'echo', arguments: {} })

/** A host that has crashed: only its store is left. */
async function crashed(store: MemoryStore, options = {}) {
  const world = createWorld({ store, ...HANGING, ...options })
  const session = await world.host.openSession({ mode: 'yolo' })
  void session.call(call('a'))
  void session.call(call('b'))
  await flush()
  return session.id
}

test('grida: calls left open at a crash are closed with an error outcome at the next start', async () => {
  const store = new MemoryStore()
  const sessionId = await crashed(store)
  expect(await store.list('call')).toHaveLength(2)
  const world = createWorld({ store })
  const interrupted = await world.host.interruptedCalls()
  expect(interrupted).toMatchObject(['a', 'b'].map((call_id) => ({
    sessionId, startedAt: expect.stringMatching(/Z$/),
    outcome: {
      type: 'error', error: { code: 'CallInterrupted' },
      error_text: expect.stringMatching(/the host ended.*safe to call again/),
      metadata: { call_id, tool: 'echo', origin: { layer: 'global', extension: 'sample' } },
    },
  })))
  expect(world.eventsOf('ToolInvocationFailed')).toMatchObject([
    { callId: 'a', errorCode: 'CallInterrupted' }, { callId: 'b' },
  ])
  expect(await store.list('call')).toEqual([])
  await world.host.flush()
  const audit = (await store.records()).map(({ record }) => record as { type: string; errorCode?: string })
  expect(audit.filter(({ errorCode }) => errorCode === 'CallInterrupted')).toHaveLength(2)
  expect(await createWorld({ store }).host.interruptedCalls()).toEqual([])
})

test('a call is in the journal before it runs, and removed when it has settled', async () => {
  const store = new MemoryStore()
  const seen: number[] = []
  const world = createWorld({
    store,
    extensions: [{
      tools: {
        echo: {
          mode: 'local', effects: 'once',
          execute: async (args) => {
            seen.push((await store.list('call')).length)
            if (args['bad']) throw new Error('bad')
          },
        },
      },
    }],
  })
  const hooks: Hooks = { beforeToolExecution: ({ args }) => args['veto'] !== true }
  const session = await world.host.openSession({ mode: 'yolo', hooks })
  for (const args of [{}, { bad: true }, { veto: true }]) await session.call({ id: 'c', name: 'echo', arguments: args })
  await world.host.flush()
  expect(seen).toEqual([1, 1])
  expect(await store.list('call')).toEqual([])
})

test('calls of a running process are not touched', async () => {
  const store = new MemoryStore()
  await crashed(store, { owner: { id: 'living', isGone: () => true } })
  const other = createWorld({ store, owner: { id: 'me', isGone: (id: string) => id !== 'living' } })
  expect(await other.host.interruptedCalls()).toEqual([])
  expect(await store.list('call')).toHaveLength(2)
  const last = createWorld({ store, owner: { id: 'me', isGone: () => true } })
  expect(await last.host.interruptedCalls()).toHaveLength(2)
})

test('a store failure loses the entry, not the call, and is retried later', async () => {
  const store = new MemoryStore()
  await crashed(store)
  store.failing = true
  const world = createWorld({ store })
  expect(await world.host.interruptedCalls()).toEqual([])
  const session = await world.host.openSession({ mode: 'yolo' })
  expect(verdictOf(await session.call(call('c')))).toBe('output')
  expect(world.eventsOf('SuppressedError').map(({ source }) => source)).toContain('journal of calls')
  store.failing = false
  expect(await world.host.interruptedCalls()).toHaveLength(2)
})

test('records of an unknown form are dropped, and a store that forgets is not written to', async () => {
  const store = new MemoryStore()
  const whole = { sessionId: 's', callId: 'c', tool: 'echo' }
  const others: Json[] = [null, [], { ...whole, sessionId: 7 }, { ...whole, callId: null }, { ...whole, tool: [] }]
  for (const [index, value] of others.entries()) await store.write('call', `x/${index}`, value)
  expect(await createWorld({ store }).host.interruptedCalls()).toEqual([])
  expect(await store.list('call')).toEqual([])
  const forgetting = Object.assign(new MemoryStore(), { forgets: true })
  await crashed(forgetting)
  expect(await forgetting.list('call')).toEqual([])
  expect(await forgetting.records()).toEqual([])
})
