import type { Store } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { createMemoryStore } from '../../src/index.ts'
import { auditPage } from '../../src/records/stored-record.ts'

// `verifyStore` of @bulkhead/conformance verifies what every store must do. This is what ours do beyond that.

it.each<[string, string, (store: Store) => Promise<unknown>]>([
  ['a key that is too long', 'refused-value', (store) => store.remove('state', 'k'.repeat(20_000))],
  ['a key that is not a string', 'refused-value', (store) => store.read('state', 7 as unknown as string)],
  ['an unknown collection', 'refused-value', (store) => store.read('constructor' as 'state', 'a')],
  ['a value that is too long', 'refused-value', (store) => store.append('\n'.repeat(9_000_000))],
  ['a use after the close', 'closed', async (store) => { await store.close(); await store.records() }],
])('a store refuses %s and says that the reason is %s', async (_, reason, act) => {
  await expect(act(createMemoryStore())).rejects.toMatchObject({ code: 'StoreUnavailable', data: { reason } })
})

it.each<[from: number, limit: number, page: [from: number, limit: number]]>([
  [1.5, 1.5, [2, 1]], [1, -1, [1, 0]], [Number.NaN, Number.NaN, [1, 0]], [Infinity, 1, [Number.MAX_SAFE_INTEGER, 1]],
])('a page from %d with a limit of %d is read as one of whole numbers', (from, limit, [first, most]) => {
  expect(auditPage(from, limit)).toEqual({ from: first, limit: most })
})
