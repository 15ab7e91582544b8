import { DatabaseSync } from 'node:sqlite'
import { afterEach, expect, it } from 'vitest'
import { verifyAudit } from '../../src/index.ts'
import { StoreFolder } from './store-folder.ts'

let folders = new AsyncDisposableStack()
afterEach(async () => {
  await folders.disposeAsync()
  folders = new AsyncDisposableStack()
})

/** One record, three together, one, two together. */
async function grouped() {
  const folder = folders.use(new StoreFolder())
  const store = await folder.open()
  await store.append({ n: 1 })
  expect(await store.appendAll!([{ n: 2 }, { n: 3 }, { n: 4 }])).toBe(4)
  await store.append({ n: 5 })
  expect(await store.appendAll!([])).toBe(5)
  expect(await store.appendAll!([{ z: 1, a: 'line\nbreak' }, { n: 7 }])).toBe(7)
  return { folder, store }
}

it('records that are written together have positions of their own and one link, and are read from any of them', async () => {
  const { store } = await grouped()
  const entries = await store.records()
  expect(entries.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6, 7])
  expect(entries.map(({ link }) => link !== null)).toEqual([true, false, false, true, true, false, true])
  expect(entries[5]!.record).toEqual({ a: 'line\nbreak', z: 1 })
  for (let from = 1; from <= 8; from++) {
    for (const limit of [0, 1, 2, 9]) expect(await store.records(from, limit)).toEqual(entries.slice(from - 1, from - 1 + limit))
  }
  expect(await verifyAudit(store)).toMatchObject({ ok: true, records: 7, last: 7 })
  expect(await verifyAudit(store, { position: 4, link: entries[3]!.link! })).toMatchObject({ ok: true })
})

it.each<[what: string, sql: string, position: number]>([
  ['one of them changed', `UPDATE audit SET record = replace(record, '"n":3', '"n":9') WHERE position = 2`, 2],
  ['one of them taken out', `UPDATE audit SET record = replace(record, '{"n":3}' || char(10), '') WHERE position = 2`, 2],
  ['two that changed places', `UPDATE audit SET record = '{"n":3}' || char(10) || '{"n":2}' || char(10) || '{"n":4}' WHERE position = 2`, 2],
  ['one of them unreadable', `UPDATE audit SET record = replace(record, '{"n":3}', '{"n":3') WHERE position = 2`, 3],
  ['all of them taken out', 'DELETE FROM audit WHERE position = 2', 2],
  ['the last taken out', 'DELETE FROM audit WHERE position = 6', 6],
])('the chain shows %s', async (_, sql, position) => {
  const { folder, store } = await grouped()
  await store.close()
  using database = new DatabaseSync(folder.file)
  database.exec(sql)
  expect(await verifyAudit(await folder.open())).toMatchObject({ ok: false, position })
})
