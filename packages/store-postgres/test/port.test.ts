import { verifyStore } from '@bulkhead/conformance'
import { expect, it } from 'vitest'
import { needs } from '../../../scripts/machine.ts'
import { openAt } from './postgres-folder.ts'

it('our store in PostgreSQL meets every requirement', needs('PostgreSQL'), async () => {
  const { checks, summary } = await verifyStore({ create: openAt })
  expect(checks.filter(({ ok }) => ok !== true)).toEqual([])
  expect(summary).toMatchObject({ conforms: true, must: { failed: 0, skipped: 0 } })
})
