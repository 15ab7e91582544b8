import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { AuditEntry, AuditGroup } from '@bulkhead/contract'
import { afterEach, expect, it } from 'vitest'
import { verifyAudit } from '../../src/index.ts'
import { StoreFolder } from './store-folder.ts'

let folders = new AsyncDisposableStack()
afterEach(async () => {
  await folders.disposeAsync()
  folders = new AsyncDisposableStack()
})

const numbers = (...values: number[]): AuditGroup => ({ forms: [{ same: {}, own: ['n'] }], rows: values.map((n) => `0,${n}`), texts: [] })

/** One record, three together, one, two of different forms together. */
async function grouped() {
  const folder = folders.use(new StoreFolder())
  const store = await folder.open()
  await store.append({ n: 1 })
  expect(await store.appendAll!(numbers(2, 3, 4))).toBe(4)
  await store.append({ n: 5 })
  expect(await store.appendAll!(numbers())).toBe(5)
  const forms = [{ same: { z: 1 }, own: ['a', 'b'] }, { same: { n: 7 }, own: [] }]
  expect(await store.appendAll!({ forms, rows: [`0,${JSON.stringify('line\nbreak')},${JSON.stringify({ tab: '\t' })}`, '1'], texts: [] })).toBe(7)
  return { folder, store }
}

it('records that are written together have positions of their own and one link, and are read from any of them', async () => {
  const { store } = await grouped()
  const entries = await store.records()
  expect(entries.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6, 7])
  expect(entries.map(({ link }) => link !== null)).toEqual([true, false, false, true, true, false, true])
  expect(entries.slice(4).map(({ record }) => record)).toEqual([{ n: 5 }, { a: 'line\nbreak', b: { tab: '\t' }, z: 1 }, { n: 7 }])
  expect(Object.keys(entries[5]!.record as object)).toEqual(['a', 'b', 'z'])
  for (let from = 1; from <= 8; from++) {
    for (const limit of [0, 1, 2, 9]) expect(await store.records(from, limit)).toEqual(entries.slice(from - 1, from - 1 + limit))
  }
  expect(await verifyAudit(store)).toMatchObject({ ok: true, records: 7, last: 7 })
  expect(await verifyAudit(store, { position: 4, link: entries[3]!.link! })).toMatchObject({ ok: true })
})

it.each<[what: string, sql: string, position: number]>([
  ['one of them changed', `UPDATE audit SET record = replace(record, '[0,3]', '[0,9]') WHERE position = 2`, 2],
  ['what they have in common changed', `UPDATE audit SET record = replace(record, '"own":["n"]', '"own":["m"]') WHERE position = 2`, 2],
  ['one of them taken out', `UPDATE audit SET record = replace(record, '[0,3]' || char(10), '') WHERE position = 2`, 2],
  ['two that changed places', `UPDATE audit SET record = replace(record, '[0,2]' || char(10) || '[0,3]', '[0,3]' || char(10) || '[0,2]') WHERE position = 2`, 2],
  ['one of them unreadable', `UPDATE audit SET record = replace(record, '[0,3]', '[0,3') WHERE position = 2`, 3],
  ['one of them without a form', `UPDATE audit SET record = replace(record, '[0,3]', '[1,3]') WHERE position = 2`, 3],
  ['one of them with too few values', `UPDATE audit SET record = replace(record, '[0,3]', '[0]') WHERE position = 2`, 3],
  ['one of them that is no row', `UPDATE audit SET record = replace(record, '[0,3]', '3') WHERE position = 2`, 3],
  ['forms that are none', `UPDATE audit SET record = replace(record, '"own":["n"]', '"own":[1]') WHERE position = 2`, 2],
  ['a group that was made records', `UPDATE audit SET record = trim(record, char(9)) WHERE position = 2`, 2],
  ['all of them taken out', 'DELETE FROM audit WHERE position = 2', 2],
  ['the last taken out', 'DELETE FROM audit WHERE position = 6', 6],
])('the chain shows %s', async (_, sql, position) => {
  const { folder, store } = await grouped()
  await store.close()
  using database = new DatabaseSync(folder.file)
  database.exec(sql)
  expect(await verifyAudit(await folder.open())).toMatchObject({ ok: false, position })
})

it('of a value that is digested no more is kept than its digest', async () => {
  const { folder, store } = await grouped()
  const forms = [{ same: { tool: 't' }, own: ['n', 'argsSha256'] }, { same: {}, own: ['n'] }]
  await store.appendAll!({ forms, rows: ['0,8', '1,9', `0,${JSON.stringify('\0')}`], texts: ['{"secret":1}', undefined, ''] })
  expect((await store.records(8)).map(({ record }) => record)).toEqual([
    { argsSha256: hash('sha256', '{"secret":1}'), n: 8, tool: 't' }, { n: 9 }, { argsSha256: hash('sha256', ''), n: '\0', tool: 't' },
  ])
  expect(await verifyAudit(store)).toMatchObject({ ok: true, records: 10 })
  await store.close()
  expect(readFileSync(folder.file, 'latin1')).not.toContain('secret')
})

/** As it would be read from an export that somebody had his hands on. */
async function verdictOf(change: (entries: AuditEntry[]) => void) {
  const { store } = await grouped()
  const entries = structuredClone(await store.records()) as AuditEntry[]
  change(entries)
  const span = await store.auditSpan()
  return verifyAudit({ auditSpan: async () => span, records: async (from = 1) => entries.filter(({ position }) => position >= from) })
}

it.each<[what: string, change: (entries: AuditEntry[]) => void, position: number]>([
  ['one of them changed, and which', (entries) => { entries[2] = { ...entries[2]!, record: { n: 9 } } }, 3],
  ['the last of them changed, and which', (entries) => { entries[6] = { ...entries[6]!, record: { n: 9 } } }, 7],
  ['one of them taken out', (entries) => { entries.splice(2, 1) }, 3],
  ['the text of all of them changed', (entries) => { entries[3] = { ...entries[3]!, text: entries[3]!.text!.replace('[0,3]', '[0,9]') } }, 2],
  ['the text of all of them taken out', ([,,, entry]) => { delete (entry as { text?: string }).text }, 2],
])('in an export the chain shows %s', async (_, change, position) => {
  expect(await verdictOf(() => {})).toMatchObject({ ok: true })
  expect(await verdictOf(change)).toMatchObject({ ok: false, position })
})

it('a text that was forged with its link and cannot be read is a record that is not there', async () => {
  const text = '\t[]\n[0]'
  const link = hash('sha256', `${'0'.repeat(64)} 1 ${text}`)
  const span = { first: 1, before: '0'.repeat(64), last: 1, link }
  const verdict = await verifyAudit({ auditSpan: async () => span, records: async () => [{ position: 1, record: {}, link, text }] })
  expect(verdict).toMatchObject({ ok: false, position: 1 })
})

it('records that were written together by an older version are read and proven as they are', async () => {
  const { folder, store } = await grouped()
  const { link: before } = await store.auditSpan()
  await store.close()
  {
    using database = new DatabaseSync(folder.file)
    const text = '{"n":8}\n{"n":9}'
    const link = hash('sha256', `${before} 8 ${text}`)
    database.prepare('INSERT INTO audit VALUES (8, ?, ?)').run(text, link)
    database.prepare('UPDATE audit_end SET position = 9, link = ?').run(link)
    database.exec('DROP TABLE audit_start; PRAGMA user_version = 2')
  }
  const again = await folder.open()
  expect(await again.appendAll!(numbers(10))).toBe(10)
  expect((await again.records(8)).map(({ record }) => record)).toEqual([{ n: 8 }, { n: 9 }, { n: 10 }])
  expect(await verifyAudit(again)).toMatchObject({ ok: true, records: 10 })
})
