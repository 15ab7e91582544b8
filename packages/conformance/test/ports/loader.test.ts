import { createLoader } from '@bulkhead/loader'
import { expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { LOADER_REQUIREMENTS, verifyLoader, type LoaderTarget } from '../../src/index.ts'
import { brokenBy, expectEachBroken, faultsIn } from './gate.ts'
import { FAULTY_LOADERS } from './loader-faults.ts'

const ours: LoaderTarget = {
  create: ({ home, coreVersion }) => createLoader({ coreVersion, roots: { global: home }, bundled: [] }),
}

it('our loader meets every requirement', async () => {
  const { checks, summary } = await verifyLoader(ours)
  expect(checks.filter(({ ok }) => ok !== true)).toEqual([])
  expect(summary).toMatchObject({ conforms: true, must: { failed: 0, skipped: 0 } })
})

it('each requirement on a loader can be broken', () => expectEachBroken(LOADER_REQUIREMENTS, FAULTY_LOADERS))

/** `pnpm soak` tries all of them. */
const SAMPLED = new Set(['imports modules', 'keeps the first of two ids'])
const tried = Object.entries(FAULTY_LOADERS).filter(([name]) => thoroughly(SAMPLED.has(name), true))
it.each(tried)('finds a loader that %s', async (_, { breaks, wrap }) => {
  const only = brokenBy(LOADER_REQUIREMENTS, breaks)
  const target: LoaderTarget = { create: async (place) => wrap(await ours.create(place)) }
  expect(faultsIn(await verifyLoader(target, { only, patienceMs: 5000 }))).toEqual(breaks.toSorted())
})
