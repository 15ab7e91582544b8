import { expect, test } from 'vitest'
import { SessionRecords } from '../../src/records/session-records.ts'
import { MemoryStore } from '../twin/store.ts'

const OPENED = { openedAt: '2026-01-01T00:00:00.000Z', options: {}, code: [] }
const PROGRESS = { turns: 0, resumed: 0, memory: {}, approvals: [] }
const DAY_MS = 24 * 60 * 60 * 1000

function records(store: MemoryStore, by: string, now: () => number = () => 0, gone: readonly string[] = []) {
  return new SessionRecords({
    store, workspace: '/work', now, keptMs: 7 * DAY_MS,
    owner: {
      id: by, join: async () => ({ id: by }), isOwn: (id) => id === by, isGone: async (id) => gone.includes(id),
    },
  })
}

test('of several hosts one gets a session whose host has ended, and the one that lost it writes no more', async () => {
  const store = new MemoryStore()
  const a = records(store, 'a')
  expect(await a.save('s', OPENED, PROGRESS)).toBe(true)
  const others = ['b', 'c', 'd'].map((id) => records(store, id, () => 0, ['a']))
  const claims = await Promise.allSettled(others.map((one) => one.claim('s', undefined)))
  expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(claims.filter(({ status }) => status === 'rejected').map((one) => (one as PromiseRejectedResult).reason.code))
    .toEqual(['SessionActiveElsewhere', 'SessionActiveElsewhere'])
  expect(await a.save('s', OPENED, { ...PROGRESS, turns: 9 })).toBe(false)
  await a.remove('s')
  expect((await store.list('session')).map(({ value }) => value)).toMatchObject([{ turns: 0, resumed: 1 }])
})

test('a host that joins again under another id while it saves a session still has it', async () => {
  const store = new MemoryStore()
  const ids = ['a']
  const owner = {
    get id() { return ids.at(-1)! },
    join: async () => ({ id: ids.at(-1)! }),
    isOwn: (id: unknown) => ids.includes(id as string),
    isGone: async () => true,
  }
  const own = new SessionRecords({ store, workspace: '/work', now: () => 0, keptMs: 1, owner })
  const saved = own.save('s', OPENED, PROGRESS)
  ids.push('a.1')
  expect(await saved).toBe(true)
})

test('a session can be resumed for so many days after its last change, and is then removed', async () => {
  const store = new MemoryStore()
  let now = 0
  const a = records(store, 'a', () => now)
  await a.save('s', OPENED, PROGRESS)
  await a.addIds('s', ['one'], 0)
  await a.release('s')
  now = 7 * DAY_MS
  await a.purge()
  expect(await a.isKept('s')).toBe(true)
  now += 2 * 60 * 60 * 1000
  expect(await a.isKept('s')).toBe(false)
  await expect(records(store, 'b', () => now).claim('s', undefined)).rejects.toMatchObject({ code: 'NotFound' })
  await a.purge()
  expect(await store.list('session')).toEqual([])
})

test('keeps the order of all ids, in records of 500', async () => {
  const store = new MemoryStore()
  const a = records(store, 'a')
  const ids = Array.from({ length: 1_203 }, (_, index) => `call-${index}`)
  await a.addIds('s', ids.slice(0, 499), 0)
  await a.addIds('s', ids.slice(499, 700), 499)
  await a.addIds('s', ids.slice(700), 700)
  expect(await a.ids('s')).toEqual(ids)
  const lengths = (await store.list('session')).map(({ value }) => (value as readonly string[]).length)
  expect(lengths).toEqual([500, 500, 203])
})
