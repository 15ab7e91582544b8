import { join } from 'node:path'
import { createMemoryStore, openSqliteStore } from '@bulkhead/store'
import { expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { STORE_REQUIREMENTS, verifyStore, type StoreTarget } from '../../src/index.ts'
import { brokenBy, expectEachBroken, faultsIn } from './gate.ts'
import { FAULTY_STORES } from './store-faults.ts'

const sqlite: StoreTarget = { create: ({ folder }) => openSqliteStore({ file: join(folder, 'host.db') }) }

it.each<[string, StoreTarget]>([['SQLite', sqlite], ['memory', { create: createMemoryStore }]])(
  'our store in %s meets every requirement', async (_, target) => {
    const { checks, summary } = await verifyStore(target)
    expect(checks.filter(({ ok }) => ok !== true)).toEqual([])
    expect(summary).toMatchObject({ conforms: true, must: { failed: 0, skipped: 0 } })
  },
)

it('each requirement on a store can be broken', () => expectEachBroken(STORE_REQUIREMENTS, FAULTY_STORES))

const found = Object.entries(FAULTY_STORES)
async function isFound(_: string, { breaks, wrap }: (typeof FAULTY_STORES)[string]): Promise<void> {
  const only = brokenBy(STORE_REQUIREMENTS, breaks)
  const target: StoreTarget = { create: async (place) => wrap(await sqlite.create(place)) }
  expect(faultsIn(await verifyStore(target, { only, patienceMs: 2000 }))).toEqual(breaks.toSorted())
}
it.each(found.filter((_, at) => at % 8 === 0))('the suite finds a store that %s', isFound)
it.each(found.filter((_, at) => at % 8 !== 0))('the suite finds a store that %s', LONG, isFound)
