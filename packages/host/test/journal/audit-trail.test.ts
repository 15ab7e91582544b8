import { expect, test } from 'vitest'
import { MemoryStore } from '../twin/store.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

const call = { id: 'c', name: 'echo', arguments: { secret: 'hunter2' } }

async function audited(store: MemoryStore, config = {}) {
  const world = createWorld({ store, config })
  const session = await world.host.openSession({ mode: 'yolo' })
  await session.call(call)
  await session.close()
  await world.host.flush()
  return (await store.records()).map(({ record }) => record as { readonly type: string })
}

test('stud: every decision and invocation is on record with the layer it came from, in order', async () => {
  const records = await audited(new MemoryStore())
  const ofCall = records.filter((record) => 'callId' in record)
  expect(ofCall).toMatchObject([
    { type: 'ToolInvocationDecided', decision: 'allow', stage: 'approval', origin: { layer: 'global', extension: 'sample' } },
    { type: 'ToolInvocationSucceeded', callId: 'c', tool: 'echo', origin: { layer: 'global' }, at: expect.stringMatching(/Z$/) },
  ])
  expect(records.map(({ type }) => type)).toEqual(expect.arrayContaining(['SessionOpened', 'SessionClosed']))
  expect(JSON.stringify(records)).not.toContain('hunter2')
})

test('arguments are recorded where it is wanted, and nothing where that is', async () => {
  const withArguments = await audited(new MemoryStore(), { audit: { arguments: true } })
  expect(withArguments).toContainEqual(expect.objectContaining({ type: 'ToolInvocationProposed', args: { secret: 'hunter2' } }))
  expect(await audited(new MemoryStore(), { audit: { enabled: false } })).toEqual([])
  expect(await audited(Object.assign(new MemoryStore(), { forgets: true }))).toEqual([])
  expect(await audited(Object.assign(new MemoryStore(), { forgets: true }), { audit: { enabled: true } })).not.toEqual([])
})

test('what was told is in the store when the host has closed, and a store that fails is reported', async () => {
  const store = new MemoryStore()
  const world = createWorld({ store })
  const session = await world.host.openSession({ mode: 'yolo' })
  store.failing = true
  expect(verdictOf(await session.call(call))).toBe('output')
  store.failing = false
  await world.host.close()
  expect(world.eventsOf('SuppressedError').filter(({ source }) => source === 'audit')).not.toEqual([])
  expect((await store.records()).map(({ record }) => record)).toContainEqual(expect.objectContaining({ type: 'SessionClosed' }))
})
