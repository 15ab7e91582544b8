import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '@bulkhead/contract'
import { createMemoryStore, openSqliteStore } from '@bulkhead/store'
import { expect, test } from 'vitest'
import { StoreWithTimeout } from '../../src/records/timeouts.ts'
import { flush, ManualClock } from '../twin/clock.ts'
import { MemoryStore } from '../twin/store.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

const never = () => new Promise<never>(() => {})

test('a request without an answer fails after the timeout, and leaves no timer', async () => {
  const clock = new ManualClock()
  const store = new MemoryStore()
  const patient = new StoreWithTimeout(store, clock)
  store.write = never
  const first = patient.write('state', 'a', 1).catch((thrown: unknown) => thrown)
  await clock.advance(20_000)
  const second = patient.write('state', 'b', 1).catch((thrown: unknown) => thrown)
  const waiting = clock.pending
  expect(await patient.read('state', 'a')).toBeUndefined()
  expect(clock.pending).toBe(waiting)
  await clock.advance(10_000)
  expect(await first).toMatchObject({ code: 'StoreUnavailable', data: { reason: 'unanswered' } })
  await clock.advance(20_000)
  expect(await second).toMatchObject({ code: 'StoreUnavailable' })
  expect(clock.pending).toBe(0)
  await patient.list('state')
  expect(clock.pending).toBe(0)
})

test('an exception of a store becomes a rejection', async () => {
  const store = new MemoryStore()
  store.remove = () => { throw new TypeError('not today') }
  await expect(new StoreWithTimeout(store, new ManualClock()).remove('call', 'a')).rejects.toThrow('not today')
})

test('a store that hangs delays a call, a session and the close of a host only until the timeout', async () => {
  const clock = new ManualClock()
  const store = new MemoryStore()
  const world = createWorld({ store, clock })
  store.list = never
  const opening = world.host.openSession({ mode: 'yolo' })
  await clock.advance(30_000)
  const session = await opening
  store.write = never
  store.append = never
  const outcome = session.call({ id: 'c', name: 'echo', arguments: {} })
  await clock.advance(30_000)
  expect(verdictOf(await outcome)).toBe('output')
  const closed = world.host.close()
  await clock.advance(60_000)
  expect(await closed).toMatchObject({ faults: [] })
  expect(new Set(world.eventsOf('SuppressedError').map(({ source }) => source))).toEqual(
    new Set(['audit', 'reading project approvals', 'closing interrupted calls', 'journal of calls']),
  )
  await flush()
  expect(clock.pending).toBe(0)
})

test('a store that throws while a call ends loses the entry, never the outcome', async () => {
  const store = new MemoryStore()
  const world = createWorld({ store })
  const session = await world.host.openSession({ mode: 'yolo' })
  store.remove = () => { throw new Error('not today') }
  expect(verdictOf(await session.call({ id: 'c', name: 'echo', arguments: {} }))).toBe('output')
})

test('the wrapper has the optional members that the store has, and no others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-patient-'))
  const stores: readonly Store[] = [
    await openSqliteStore({ file: join(folder, 'host.db') }), createMemoryStore(), new MemoryStore(),
  ]
  const optional = ['appendAll', 'archive', 'work'] as const
  for (const store of stores) {
    const patient: Store = new StoreWithTimeout(store, new ManualClock())
    const names = [...Object.keys(store), ...Object.getOwnPropertyNames(Object.getPrototypeOf(store))]
    // Only `bulkhead store copy` adopts chains.
    expect(names.filter((name) => name !== 'failing' && name !== 'adopt' && !(name in patient))).toEqual([])
    for (const name of optional) expect(patient[name] === undefined).toBe(store[name] === undefined)
    await store.close()
  }
  rmSync(folder, { recursive: true })
})
