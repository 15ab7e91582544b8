import { DatabaseSync } from 'node:sqlite'
import type { AuditGroup, Store } from '@bulkhead/contract'
import { afterEach, expect, it } from 'vitest'
import { verifyAudit } from '../../src/index.ts'
import { StoreFolder } from './store-folder.ts'

let folders = new AsyncDisposableStack()
const newFolder = () => folders.use(new StoreFolder())
afterEach(async () => {
  await folders.disposeAsync()
  folders = new AsyncDisposableStack()
})

const numbers = (from: number, count: number): AuditGroup =>
  ({ forms: [{ same: {}, own: ['n'] }], rows: Array.from({ length: count }, (_, n) => `0,${from + n}`), texts: [] })

const linkAt = async (store: Store, position: number): Promise<string> => (await store.records(position, 1))[0]!.link!

/** Record 1, a group of 2 to 4, record 5. */
async function five() {
  const folder = newFolder()
  const store = await folder.open()
  await store.append({ n: 1 })
  await store.appendAll!(numbers(2, 3))
  await store.append({ n: 5 })
  return { folder, store }
}

it('removes archived records, documents it in a record, and keeps the chain valid', async () => {
  const { folder, store } = await five()
  const link = await linkAt(store, 4)
  expect(await store.archive!(4, link, 'Ada')).toBe(6)
  expect(await store.auditSpan()).toMatchObject({ first: 5, before: link, last: 6 })
  expect((await store.records()).map(({ position, record }) => [position, record])).toEqual([
    [5, { n: 5 }], [6, { at: expect.any(String), by: 'Ada', first: 1, last: 4, link, type: 'AuditArchived' }],
  ])
  await store.append({ n: 7 })
  await store.close()
  const again = await folder.open()
  expect(await verifyAudit(again)).toMatchObject({ ok: true, records: 3, first: 5, before: link, last: 7 })
  expect(await again.archive!(7, await linkAt(again, 7), 'Bob')).toBe(8)
  expect(await verifyAudit(again)).toMatchObject({ ok: true, records: 1, first: 8, last: 8 })
  expect((await again.records())[0]!.record).toMatchObject({ first: 5, last: 7, by: 'Bob' })
})

it.each<[what: string, last: number, of: number]>([
  ['ends inside a group', 3, 4],
  ['ends with the link of another record', 4, 1],
  ['ends before the first record', 0, 1],
  ['ends after the last record', 6, 5],
])('rejects a range that %s, and removes nothing', async (_, last, of) => {
  const { store } = await five()
  const before = await store.records()
  await expect(store.archive!(last, await linkAt(store, of), 'Ada')).rejects.toMatchObject({
    code: 'StoreUnavailable', data: { reason: 'refused-value' },
  })
  expect(await store.records()).toEqual(before)
  expect(await verifyAudit(store)).toMatchObject({ ok: true, records: 5 })
})

it('rejects the second of two concurrent archives of the same range', async () => {
  const { folder, store } = await five()
  const other = await folder.open()
  const link = await linkAt(store, 4)
  const results = await Promise.allSettled([store.archive!(4, link, 'Ada'), other.archive!(4, link, 'Bob')])
  expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(await verifyAudit(store)).toMatchObject({ ok: true, records: 2 })
})

it.each<[what: string, sql: string, position: number]>([
  [
    'without an archive',
    'INSERT INTO audit_start SELECT 1, 4, link FROM audit WHERE position = 2; DELETE FROM audit WHERE position <= 4', 4,
  ],
  [
    'after a smaller archive',
    'UPDATE audit_start SET position = 4, link = (SELECT link FROM audit WHERE position = 2); '
      + 'DELETE FROM audit WHERE position <= 4', 4,
  ],
  ['with an unchanged start', 'DELETE FROM audit WHERE position <= 4', 2],
])('detects records that were deleted from the start %s', async (what, sql, position) => {
  const { folder, store } = await five()
  if (what !== 'without an archive') await store.archive!(1, await linkAt(store, 1), 'Ada')
  await store.close()
  using database = new DatabaseSync(folder.file)
  database.exec(sql)
  expect(await verifyAudit(await folder.open())).toMatchObject({ ok: false, position })
})

it('compares a saved link with the end of the archive, and refers an earlier one to the archive', async () => {
  const { store } = await five()
  const [first, link] = [await linkAt(store, 1), await linkAt(store, 4)]
  await store.archive!(4, link, 'Ada')
  expect(await verifyAudit(store, { position: 4, link })).toMatchObject({ ok: true })
  expect(await verifyAudit(store, { position: 4, link: first })).toMatchObject({ ok: false, position: 4 })
  expect(await verifyAudit(store, { position: 1, link: first })).toMatchObject({
    ok: false, position: 1, reason: expect.stringContaining('archive'),
  })
})

it('frees space in a full store', async () => {
  const folder = newFolder()
  const store = await folder.open({ maxBytes: 256 * 1024 })
  const fill = async () => { for (;;) await store.append({ text: 'x'.repeat(4_000) }) }
  await expect(fill()).rejects.toMatchObject({
    data: { reason: 'full' }, message: expect.stringContaining('audit archive'),
  })
  await expect(store.write('state', 'a', 'y'.repeat(40_000))).rejects.toMatchObject({ data: { reason: 'full' } })
  const { last, link } = await store.auditSpan()
  await store.archive!(last, link, 'Ada')
  await store.write('state', 'a', 'y'.repeat(40_000))
  expect(await verifyAudit(store)).toMatchObject({ ok: true, records: 1 })
})

it('keeps the order of records while the audit thread writes', async () => {
  const store = await newFolder().open()
  for (let n = 1; n <= 1_000; n += 200) await store.appendAll!(numbers(n, 200))
  const { last, link } = await store.auditSpan()
  const added: Promise<unknown>[] = []
  for (let n = 1_001; n <= 2_000; n += 200) added.push(store.appendAll!(numbers(n, 200)))
  added.push(store.archive!(last, link, 'Ada'))
  for (let n = 2_001; n <= 3_000; n += 200) added.push(store.appendAll!(numbers(n, 200)))
  await Promise.all(added)
  expect(await verifyAudit(store)).toMatchObject({ ok: true, records: 2_001 })
  const kept = (await store.records()).map(({ record }) => (record as { n?: number }).n).filter((n) => n !== undefined)
  expect(kept).toEqual(Array.from({ length: 2_000 }, (_, n) => 1_001 + n))
})

it('restarts a verification when records are archived meanwhile', async () => {
  const { store } = await five()
  const link = await linkAt(store, 4)
  let archived = false
  const source = {
    auditSpan: () => store.auditSpan(),
    records: async (from?: number, limit?: number) => {
      if (!archived) await store.archive!(4, link, 'Ada')
      archived = true
      return store.records(from, limit)
    },
  }
  expect(await verifyAudit(source)).toMatchObject({ ok: true, first: 5, records: 2 })
})
