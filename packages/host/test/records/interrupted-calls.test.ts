import { expect, test } from 'vitest'
import { MemoryStore } from '../twin/store.ts'
import { createWorld } from '../twin/world.ts'

const CALL = { sessionId: 's', callId: 'c', tool: 'echo', startedAt: 0 }
const isGone = (id: string) => id.startsWith('dead')

async function storeWith(records: Readonly<Record<string, object>>): Promise<MemoryStore> {
  const store = new MemoryStore()
  for (const [key, value] of Object.entries(records)) await store.write('call', key, value as never)
  return store
}

const hostNamed = (id: string, store: MemoryStore) => createWorld({ store, owner: { id, isGone } })

test('of several hosts that find the same calls one reports them', async () => {
  const store = await storeWith({
    'dead/1': CALL, 'dead/2': { ...CALL, callId: 'd' }, 'dead 2/1': { ...CALL, sessionId: 's2' },
  })
  const worlds = ['a', 'b', 'c'].map((id) => hostNamed(id, store))
  const reported = (await Promise.all(worlds.map(({ host }) => host.interruptedCalls()))).flat()
  expect(reported.map(({ outcome }) => outcome.metadata.call_id).toSorted()).toEqual(['c', 'c', 'd'])
  expect(worlds.flatMap((world) => world.eventsOf('ToolInvocationFailed'))).toHaveLength(3)
  expect(await store.list('call')).toEqual([])
})

test('a call that has an end in the audit of its own host is not reported again', async () => {
  const end = { type: 'ToolInvocationSucceeded', at: new Date(5).toISOString(), ...CALL }
  const store = Object.assign(await storeWith({ 'dead/1': CALL, 'dead/2': { ...CALL, callId: 'd' } }), {
    chains: async () => [chainOf('own', [{ type: 'SessionOpened' }]), chainOf('of the dead', [end])],
  })
  const reported = await hostNamed('a', store).host.interruptedCalls()
  expect(reported.map(({ outcome }) => outcome.metadata.call_id)).toEqual(['d'])
})

const chainOf = (name: string, records: readonly object[]) => ({
  name, archive: async () => 0,
  records: async () => records.map((record, index) => ({ position: index + 1, record: record as never, link: '' })),
  auditSpan: async () => ({ first: 1, before: '', last: records.length, link: '' }),
})
const recordOf = (type: string) => ({ type, at: new Date(5).toISOString(), ...CALL })

test.each([['dead', 'living'], ['living', 'dead']])(
  'a call that another host has settled is not reported again, if the audits are read in the order %s, %s',
  async (...order) => {
    const records = { dead: recordOf('ToolInvocationDecided'), living: recordOf('ToolInvocationFailed') }
    const store = Object.assign(await storeWith({ 'dead/1': CALL }), {
      chains: async () => order.map((name) => chainOf(name, [records[name as keyof typeof records]])),
    })
    expect(await hostNamed('a', store).host.interruptedCalls()).toEqual([])
    expect(await store.list('call')).toEqual([])
  },
)

test('a host reports nothing if another one took the calls over while it read the audit', async () => {
  const store = await storeWith({ 'dead/1': CALL })
  Object.assign(store, {
    chains: async () => {
      await store.write('call', 'dead/claim', { claimedBy: 'living' })
      return [chainOf('dead', [])]
    },
  })
  const world = hostNamed('a', store)
  expect(await world.host.interruptedCalls()).toEqual([])
  expect(world.eventsOf('ToolInvocationFailed')).toEqual([])
  expect((await store.list('call')).map(({ key }) => key)).toEqual(['dead/1', 'dead/claim'])
})

test('two processes do not report the same calls; if one ends, the other reports the rest', async () => {
  const left = { 'dead/1': CALL, 'dead/claim': { claimedBy: 'living' } }
  const store = await storeWith(left)
  expect(await hostNamed('a', store).host.interruptedCalls()).toEqual([])
  expect(Object.fromEntries((await store.list('call')).map(({ key, value }) => [key, value]))).toEqual(left)
  await store.write('call', 'dead/claim', { claimedBy: 'dead too' })
  expect(await hostNamed('b', store).host.interruptedCalls()).toHaveLength(1)
  expect(await store.list('call')).toEqual([])
})

test.each([{ claimedBy: 'dead too' }, { claimedBy: 7 }, {}])(
  'a claim %j without an owner is removed',
  async (claim) => {
    const store = await storeWith({ 'dead/claim': claim })
    expect(await hostNamed('a', store).host.interruptedCalls()).toEqual([])
    expect(await store.list('call')).toEqual([])
  },
)

test('a reported call is dropped only when the audit has it', async () => {
  const log: string[] = []
  const store = Object.assign(new MemoryStore(), {
    append: async () => log.push('audit'),
    remove: async (_: string, key: string) => void log.push(`remove ${key}`),
  })
  await store.write('call', 'dead/1', CALL)
  expect(await hostNamed('a', store).host.interruptedCalls()).toHaveLength(1)
  expect(log).toEqual(['audit', 'remove dead/1', 'remove dead/claim'])
})

test.each(['ToolInvocationSucceeded', 'ToolInvocationFailed', 'ToolInvocationCancelled'])(
  'a call whose end the audit has as %s is dropped and not reported again',
  async (type) => {
    const store = await storeWith({
      'dead/1': { ...CALL, startedAt: 5_000 }, 'dead/2': { ...CALL, callId: 'd', startedAt: 5_000 },
      'dead/3': { ...CALL, callId: 'e', startedAt: 5_000 },
    })
    const end = (callId: string, ms: number, sessionId = 's') => ({
      type, at: new Date(ms).toISOString(), sessionId, callId, tool: 'echo',
    })
    // The id d was used before, and e in another session.
    for (const record of [
      end('d', 4_999), end('c', 5_000), end('e', 6_000, 'other'),
      { type: 'SessionClosed', sessionId: 's', callId: 'd' },
    ]) {
      await store.append(record)
    }
    const world = hostNamed('a', store)
    expect((await world.host.interruptedCalls()).map(({ outcome }) => outcome.metadata.call_id)).toEqual(['d', 'e'])
    expect(world.eventsOf('ToolInvocationFailed').map(({ callId }) => callId)).toEqual(['d', 'e'])
    expect(await store.list('call')).toEqual([])
  },
)

test('a call is open if its id was used before in the same millisecond, or twice in the session', async () => {
  const at = new Date(5_000).toISOString()
  const again = { ...CALL, callId: 'again', startedAt: 5_000 }
  const store = await storeWith({
    'dead/1': again, 'dead/2': { ...CALL, startedAt: 5_000 }, 'dead/3': { ...CALL, startedAt: 5_000 },
  })
  for (const [type, callId] of [
    ['Decided', 'again'], ['Succeeded', 'again'], ['Decided', 'again'], ['Succeeded', 'c'],
  ] as const) {
    await store.append({ type: `ToolInvocation${type}`, sessionId: 's', callId, at })
  }
  const reported = await hostNamed('a', store).host.interruptedCalls()
  expect(reported.map(({ outcome }) => outcome.metadata.call_id)).toEqual(['again', 'c', 'c'])
})

test('the end of a call is searched for only in the audit since its start', async () => {
  const store = await storeWith({ 'dead/1': { ...CALL, startedAt: 10_000 } })
  const at = (ms: number) => new Date(ms).toISOString()
  for (let ms = 0; ms < 10_000; ms++) await store.append({ type: 'SessionOpened', sessionId: 'other', at: at(ms) })
  await store.append({ type: 'ToolInvocationSucceeded', sessionId: 's', callId: 'c', at: at(10_001) })
  for (let ms = 10_002; ms < 12_500; ms++) await store.append({ type: 'SessionOpened', sessionId: 'other', at: at(ms) })
  let read = 0
  const { records } = MemoryStore.prototype
  const counting = Object.assign(store, {
    records: async (from: number, limit: number) => {
      read += limit
      return records.call(store, from, limit)
    },
  })
  expect(await hostNamed('a', counting).host.interruptedCalls()).toEqual([])
  expect(read).toBeLessThan(6_000)
})

test('a host that cannot remove the reported calls releases its claim', async () => {
  const store = await storeWith({ 'dead/1': CALL })
  const { remove } = MemoryStore.prototype
  const world = hostNamed('a', Object.assign(store, {
    remove: async (collection: 'call', key: string) => {
      if (key === 'dead/1') throw new Error('not now')
      await remove.call(store, collection, key)
    },
  }))
  expect(await world.host.interruptedCalls()).toEqual([])
  expect((await store.list('call')).map(({ key }) => key)).toEqual(['dead/1'])
})
