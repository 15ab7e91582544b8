import type { Json } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { MemoryStore } from '../twin/store.ts'
import { createWorld, verdictOf, type ExtensionSketch } from '../twin/world.ts'

const COUNTER: ExtensionSketch = {
  id: 'counter',
  stateSlot: { slotVersion: '1', schema: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } } },
  tools: {
    read: { execute: (_, { services }) => services.state!.read() },
    write: { mode: 'safe_write', execute: (args, { services }) => services.state!.write(args['state'] as Json) },
  },
}
// The locked names belong to the host, so a stranger's are others.
const sketch = (changes: ExtensionSketch = {}): ExtensionSketch => ({
  ...COUNTER, ...changes, tools: { state_read: COUNTER.tools!['read']!, state_write: COUNTER.tools!['write']! },
})
const slot = (slotVersion: string, driftPolicy: 'migrate' | 'warn' | 'reject') => ({
  slotVersion, schema: { type: 'object' }, driftPolicy,
}) as const

async function opened(store: MemoryStore, changes: ExtensionSketch = {}, workspace = '/ws') {
  const world = createWorld({ store, workspace, extensions: [sketch(changes)] })
  const session = await world.host.openSession({ mode: 'yolo' })
  return {
    world,
    read: () => session.call({ id: 'r', name: 'state_read', arguments: {} }),
    write: (state: Json) => session.call({ id: 'w', name: 'state_write', arguments: { state } }),
  }
}

test('nothing written is null; what was written is there in the next host', async () => {
  const store = new MemoryStore()
  const first = await opened(store)
  expect(await first.read()).toMatchObject({ data: null })
  expect(verdictOf(await first.write({ n: 7 }))).toBe('output')
  expect(await (await opened(store)).read()).toMatchObject({ data: { n: 7 } })
})

test('what breaks the schema is not written', async () => {
  const store = new MemoryStore()
  const { read, write } = await opened(store)
  await write({ n: 1 })
  expect(await write({ n: 'one' })).toMatchObject({ error: { code: 'StateInvalid', data: { path: '/n' } } })
  expect(await read()).toMatchObject({ data: { n: 1 } })
})

test.each(['project', 'global'] as const)('the slot of another extension, layer or project is out of reach', async (layer) => {
  const store = new MemoryStore()
  await (await opened(store)).write({ n: 1 })
  expect(await (await opened(store, { id: 'other', layer })).read()).toMatchObject({ data: null })
  if (layer === 'project') {
    const mine = await opened(store, { layer })
    expect(await mine.read()).toMatchObject({ data: null })
    await mine.write({ n: 2 })
    expect(await (await opened(store, { layer }, '/elsewhere')).read()).toMatchObject({ data: null })
    expect(await (await opened(store, { layer })).read()).toMatchObject({ data: { n: 2 } })
  }
})

test.each([['warn', 'output'], ['reject', 'SlotDriftRejected'], ['migrate', 'SlotMigrationFailed']] as const)(
  'state of another version under %s: %s, reported, and untouched', async (policy, verdict) => {
    const store = new MemoryStore()
    await (await opened(store, { stateSlot: slot('1', 'reject') })).write({ n: 1 })
    const before = await store.list('state')
    const later = await opened(store, { stateSlot: slot('2', policy) })
    const outcome = await later.read()
    expect(verdictOf(outcome)).toBe(verdict)
    if (policy === 'warn') expect(outcome).toMatchObject({ data: { n: 1 } })
    expect(later.world.eventsOf('StateSlotDrift')).toMatchObject([
      { extensionId: 'counter', storedVersion: '1', currentVersion: '2', decision: policy },
    ])
    expect(await store.list('state')).toEqual(before)
  },
)

test('a record without a version is not guessed at, and a failing store is the call\'s error', async () => {
  const store = new MemoryStore()
  const { read, write } = await opened(store)
  await write({ n: 1 })
  const [record] = await store.list('state')
  await store.write('state', record!.key, { data: { n: 1 } })
  expect(verdictOf(await read())).toBe('SlotVersionMissing')
  store.failing = true
  expect(verdictOf(await write({ n: 2 }))).toBe('StoreUnavailable')
})
