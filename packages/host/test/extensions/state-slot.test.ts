import type { Json } from '@bulkhead/kit/json'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../twin/clock.ts'
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
// Third-party extensions cannot use the locked names of the host.
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

test('an empty slot reads null, and a written value is there in the next host', async () => {
  const store = new MemoryStore()
  const first = await opened(store)
  expect(await first.read()).toMatchObject({ data: null })
  expect(verdictOf(await first.write({ n: 7 }))).toBe('output')
  expect(await (await opened(store)).read()).toMatchObject({ data: { n: 7 } })
})

test('a value that violates the schema is not written', async () => {
  const store = new MemoryStore()
  const { read, write } = await opened(store)
  await write({ n: 1 })
  expect(await write({ n: 'one' })).toMatchObject({ error: { code: 'StateInvalid', data: { path: '/n' } } })
  expect(await write(7)).toMatchObject({ error_text: expect.stringMatching(/^The state of "[^"]+" must be object\./) })
  expect(await read()).toMatchObject({ data: { n: 1 } })
})

test.each(['project', 'global'] as const)(
  'the slot of another extension, layer or project is not accessible',
  async (layer) => {
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
  },
)

describe('state of another version', () => {
  const stored = async () => {
    const store = new MemoryStore()
    await (await opened(store, { stateSlot: slot('1', 'reject') })).write({ n: 1 })
    return store
  }
  const drift = (decision: string) => [{ extensionId: 'counter', storedVersion: '1', currentVersion: '2', decision }]

  test.each([['warn', 'output'], ['reject', 'SlotDriftRejected'], ['migrate', 'SlotMigrationFailed']] as const)(
    'stud: under %s reading is %s, reported, and nothing is changed', async (policy, verdict) => {
      const store = await stored()
      const before = await store.list('state')
      const later = await opened(store, { stateSlot: slot('2', policy) })
      const outcome = await later.read()
      expect(verdictOf(outcome)).toBe(verdict)
      if (policy === 'warn') expect(outcome).toMatchObject({ data: { n: 1 } })
      expect(later.world.eventsOf('StateSlotDrift')).toMatchObject(drift(policy))
      expect(await store.list('state')).toEqual(before)
    },
  )

  test('the record that the error names can be removed, and the slot is empty again', async () => {
    const store = await stored()
    const later = await opened(store, { stateSlot: slot('2', 'reject') })
    const outcome = await later.read()
    const { key } = outcome.type === 'error' ? outcome.error.data as { key: string } : { key: '' }
    expect(outcome).toMatchObject({ error_text: expect.stringContaining(`the record ${key}`) })
    await store.remove('state', key)
    expect(await later.read()).toMatchObject({ data: null })
  })

  test('stud: state that is rejected or cannot be migrated is not overwritten', async () => {
    const store = await stored()
    const before = await store.list('state')
    for (const policy of ['reject', 'migrate'] as const) {
      const later = await opened(store, { stateSlot: slot('2', policy) })
      expect(verdictOf(await later.write({ n: 2 }))).not.toBe('output')
    }
    expect(await store.list('state')).toEqual(before)
    const warned = await opened(store, { stateSlot: slot('2', 'warn') })
    expect(verdictOf(await warned.write({ n: 2 }))).toBe('output')
    expect(await store.list('state')).toMatchObject([{ value: { slotVersion: '2', data: { n: 2 } } }])
  })

  test('stud: state is migrated once, in the compartment, and stored', async () => {
    const store = await stored()
    const asked: unknown[] = []
    const stateSlot = { ...slot('2', 'migrate'), schema: { type: 'object', required: ['count'] } }
    const changes: ExtensionSketch = {
      stateSlot,
      migrateState: (old) => {
        asked.push(old)
        return { slotVersion: '2', data: { count: (old.data as { n: number }).n } }
      },
    }
    const later = await opened(store, changes)
    expect(await Promise.all([later.read(), later.read()])).toMatchObject([
      { data: { count: 1 } }, { data: { count: 1 } },
    ])
    expect(await (await opened(store, changes)).read()).toMatchObject({ data: { count: 1 } })
    expect(asked).toEqual([{ slotVersion: '1', data: { n: 1 } }])
    expect(later.world.eventsOf('StateSlotDrift')).toMatchObject(drift('migrate'))
    expect(await store.list('state')).toMatchObject([{ value: { slotVersion: '2', data: { count: 1 } } }])
  })

  test.each<[string, ExtensionSketch['migrateState'] & {}, string]>([
    ['throws', () => { throw new Error('lost the key') }, 'lost the key'],
    ['returns another version', () => ({ slotVersion: '3', data: {} }), 'of that version'],
    ['returns no version', (() => ({ n: 1 })) as never, 'of that version'],
    ['returns nothing', (() => undefined) as never, 'of that version'],
    ['returns data that the schema forbids', () => ({ slotVersion: '2', data: 7 }), 'what it became must be object.'],
  ])('stud: a migration that %s fails the read and leaves the state as it was', async (_, migrateState, why) => {
    const store = await stored()
    const before = await store.list('state')
    const outcome = await (await opened(store, { stateSlot: slot('2', 'migrate'), migrateState })).read()
    expect(outcome).toMatchObject({ error: { code: 'SlotMigrationFailed' }, error_text: expect.stringContaining(why) })
    expect(await store.list('state')).toEqual(before)
  })

  test('stud: a migration has a deadline', async () => {
    const store = await stored()
    const clock = new ManualClock()
    const world = createWorld({
      store, clock, workspace: '/ws', config: { extensions: { counter: { limits: { phaseMs: 50 } } } },
      extensions: [sketch({ stateSlot: slot('2', 'migrate'), migrateState: () => new Promise(() => {}) })],
    })
    const session = await world.host.openSession({ mode: 'yolo' })
    const outcome = session.call({ id: 'r', name: 'state_read', arguments: {} })
    await clock.advance(50)
    expect(await outcome).toMatchObject({
      error: { code: 'SlotMigrationFailed' }, error_text: expect.stringContaining('longer than 50 ms'),
    })
  })
})

describe('state that another generation or host writes at the same time', () => {
  test('a write during a migration is migrated, not lost', async () => {
    const store = new MemoryStore()
    const older = await opened(store, { stateSlot: slot('1', 'reject') })
    await older.write({ n: 1 })
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const newer = await opened(store, {
      stateSlot: slot('2', 'migrate'),
      migrateState: async ({ data }) => {
        begun.resolve()
        await gate.promise
        return { slotVersion: '2', data: { count: (data as { n: number }).n } }
      },
    })
    const reading = newer.read()
    await begun.promise
    expect(verdictOf(await older.write({ n: 2 }))).toBe('output')
    gate.resolve()
    expect(await reading).toMatchObject({ data: { count: 2 } })
    expect(verdictOf(await older.write({ n: 3 }))).toBe('SlotDriftRejected')
    expect(await newer.read()).toMatchObject({ data: { count: 2 } })
  })

  test('state that gets another version before a write is not overwritten', async () => {
    const store = new MemoryStore()
    const older = await opened(store, { stateSlot: slot('1', 'reject') })
    await older.write({ n: 1 })
    const [record] = await store.list('state')
    const read = store.read.bind(store)
    store.read = async (collection, key) => {
      const value = await read(collection, key)
      if (collection === 'state') await store.write(collection, record!.key, { slotVersion: '2', data: { count: 1 } })
      return value
    }
    expect(verdictOf(await older.write({ n: 2 }))).toBe('SlotDriftRejected')
    expect(await store.list('state')).toMatchObject([{ value: { slotVersion: '2', data: { count: 1 } } }])
  })
})

test('a record without a version is rejected, and a store failure is the call\'s error', async () => {
  const store = new MemoryStore()
  const { read, write } = await opened(store)
  await write({ n: 1 })
  const [record] = await store.list('state')
  await store.write('state', record!.key, { data: { n: 1 } })
  expect(verdictOf(await read())).toBe('SlotVersionMissing')
  store.failing = true
  expect(verdictOf(await write({ n: 2 }))).toBe('StoreUnavailable')
})
