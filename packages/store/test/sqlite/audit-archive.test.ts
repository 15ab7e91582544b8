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
])('verifyAudit finds records that were deleted from the start %s', async (what, sql, position) => {
  const { folder, store } = await five()
  if (what !== 'without an archive') await store.archive!(1, await linkAt(store, 1), 'Ada')
  await store.close()
  using database = new DatabaseSync(folder.file)
  database.exec(sql)
  expect(await verifyAudit(await folder.open())).toMatchObject({ ok: false, position })
})

it('verifyAudit compares a saved link with the end of the archive, and refers to it for earlier ones', async () => {
  const { store } = await five()
  const [first, link] = [await linkAt(store, 1), await linkAt(store, 4)]
  await store.archive!(4, link, 'Ada')
  expect(await verifyAudit(store, { position: 4, link })).toMatchObject({ ok: true })
  expect(await verifyAudit(store, { position: 4, link: first })).toMatchObject({ ok: false, position: 4 })
  expect(await verifyAudit(store, { position: 1, link: first })).toMatchObject({
    ok: false, position: 1, reason: expect.stringContaining('archive'),
  })
})

it('an archive frees space in a full store', async () => {
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

it('an archive keeps the order of records while the audit thread writes', async () => {
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

it('verifyAudit starts again when records are archived meanwhile', async () => {
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
