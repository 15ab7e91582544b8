import { expect, it } from 'vitest'
import { createMemoryStore, verifyAudit } from '../src/index.ts'

it('a store in memory keeps only the latest audit records, and their chain is valid', async () => {
  const store = createMemoryStore()
  for (let n = 1; n <= 10_500; n++) await store.append(n)
  expect(await store.auditSpan()).toMatchObject({ first: 501, last: 10_500 })
  expect(await store.records(1, 1)).toMatchObject([{ position: 501, record: 501 }])
  expect(await verifyAudit(store)).toMatchObject({ ok: true, records: 10_000, last: 10_500 })
})
