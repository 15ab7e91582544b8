import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore, verifyAudit } from '@bulkhead/store'
import { expect, test } from 'vitest'
import { cutAudits, retentionOf } from '../../src/records/retention.ts'
import { ManualClock } from '../twin/clock.ts'
import { MemoryStore } from '../twin/store.ts'
import { createWorld } from '../twin/world.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
const MIB = 1024 ** 2

test('each setting has a default, and only the audit is kept without end', () => {
  expect(retentionOf({})).toEqual({
    sessionMs: 7 * DAY_MS, outcomeMs: DAY_MS, pausedMs: 90 * DAY_MS, approvalMs: 90 * DAY_MS, auditMs: undefined,
    recordMs: 7 * DAY_MS, recordBytes: 256 * MIB,
  })
  const retention = {
    sessionDays: 1, outcomeHours: 2, pausedDays: 3, approvalDays: 4, auditDays: 5, recordDays: 6, recordMiB: 1,
  }
  expect(retentionOf({ store: { retention } })).toEqual({
    sessionMs: DAY_MS, outcomeMs: 2 * HOUR_MS, pausedMs: 3 * DAY_MS, approvalMs: 4 * DAY_MS, auditMs: 5 * DAY_MS,
    recordMs: 6 * DAY_MS, recordBytes: MIB,
  })
})

test('outcomes and questions go after the time that is set for them', async () => {
  const clock = new ManualClock()
  const store = new MemoryStore()
  const retention = { outcomeHours: 2, pausedDays: 3 }
  const { host } = createWorld({ store, clock, config: { store: { retention } } })
  const session = await host.openSession({ mode: 'yolo' })
  const call = async (id: string) =>
    (await session.call({ id, name: 'echo', arguments: {}, idempotencyKey: 'k' })).metadata
  await call('a')
  const { key } = (await store.list('outcome'))[0]!
  const pausedAt = new Date(clock.now()).toISOString()
  const prefix = key.slice(0, key.indexOf('/') + 1)
  const waits = { id: 'p', pausedAt, call: { id: 'c', name: 'echo', arguments: {} }, question: {}, asked: [] }
  await store.write('paused', `${prefix}p`, waits)
  await store.write('paused', `${prefix}claimed`, { ...waits, id: 'claimed', claimedBy: 'other' })
  await clock.advance(2 * HOUR_MS)
  expect((await call('b')).replayed).toBe(true)
  await clock.advance(1)
  expect((await call('c')).replayed).toBeUndefined()
  await clock.advance(3 * DAY_MS - 2 * HOUR_MS - 1)
  await host.pausedCalls()
  expect(await store.list('paused')).toHaveLength(2)
  await clock.advance(1)
  await host.pausedCalls()
  expect((await store.list('paused')).map((one) => one.key)).toEqual([`${prefix}claimed`])
})

test('outcomes are removed in parts, and a store that cannot list them is asked again an hour later', async () => {
  const clock = new ManualClock()
  const store = new MemoryStore()
  const lists: number[] = []
  let fails = false
  const list = store.list.bind(store)
  store.list = async (collection, prefix) => {
    const found = await list(collection, prefix)
    if (collection !== 'outcome' || prefix === undefined) return found
    lists.push(found.length)
    if (fails) throw new Error('The store is slow.')
    return found
  }
  const { host } = createWorld({ store, clock })
  const session = await host.openSession({ mode: 'yolo' })
  let calls = 0
  const call = () =>
    session.call({ id: `${++calls}`, name: 'echo', arguments: {}, idempotencyKey: `${calls}` })
  for (let n = 0; n < 40; n++) await call()
  await clock.advance(DAY_MS + 1)
  lists.length = 0
  await call()
  await expect.poll(async () => (await list('outcome')).length).toBe(1)
  expect(Math.max(...lists)).toBeLessThan(20)
  await clock.advance(HOUR_MS + 1)
  lists.length = 0
  fails = true
  for (let n = 0; n < 10; n++) await call()
  expect(lists).toHaveLength(1)
})

test('the audit is cut where its records are older, and stays a chain', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-retention-'))
  const store = await openSqliteStore({ file: join(folder, 'host.db') })
  const now = Date.now()
  for (const days of [40, 31, 29, 1]) await store.append({ at: new Date(now - days * DAY_MS).toISOString(), days })
  await store.append({ noTime: true })
  await cutAudits(store, now - 50 * DAY_MS, 'a test')
  expect(await store.auditSpan()).toMatchObject({ first: 1, last: 5 })
  const world = createWorld({ store, config: { store: { retention: { auditDays: 30 } }, audit: { enabled: false } } })
  await world.host.openSession()
  await expect.poll(async () => (await store.auditSpan()).first).toBe(3)
  expect(await verifyAudit(store)).toMatchObject({ ok: true, first: 3, last: 6 })
  expect((await store.records(6))[0]!.record).toMatchObject({ last: 2, by: 'store.retention.auditDays' })
  await world.host.close()
  await store.close()
  rmSync(folder, { recursive: true })
})
