import { createMemoryStore } from '@bulkhead/store'
import { expect, it } from 'vitest'
import { replicaRecords } from '../src/facade/replica-records.ts'

const DAY_MS = 24 * 60 * 60 * 1000

it('forgets clients of ended replicas after 30 days, and no others', async () => {
  const store = createMemoryStore()
  const old = Date.now() - 31 * DAY_MS
  await store.write('client', 'ended', { client: 'c', owner: 'gone', at: old })
  await store.write('client', 'released', { client: 'c', at: old })
  await store.write('client', 'served', { client: 'c', owner: 'alive', at: old })
  await store.write('client', 'recent', { client: 'c', owner: 'gone', at: Date.now() - 29 * DAY_MS })
  const records = replicaRecords(store, { id: 'me', isGone: (id) => id === 'gone' })
  await records.update('mine', () => ({ client: 'c', owner: 'me', at: Date.now() }))
  await expect.poll(async () => (await store.list('client')).map(({ key }) => key))
    .toEqual(['mine', 'recent', 'served'])
})
