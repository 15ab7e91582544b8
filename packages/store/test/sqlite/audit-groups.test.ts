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

const numbers = (...values: number[]): AuditGroup =>
  ({ forms: [{ same: {}, own: ['n'] }], rows: values.map((n) => `0,${n}`), texts: [] })

/** One record, a group of three, one record, a group of two with different forms. */
async function grouped() {
  const folder = folders.use(new StoreFolder())
  const store = await folder.open()
  await store.append({ n: 1 })
  expect(await store.appendAll!(numbers(2, 3, 4))).toBe(4)
  await store.append({ n: 5 })
  expect(await store.appendAll!(numbers())).toBe(5)
  const forms = [{ same: { z: 1 }, own: ['a', 'b'] }, { same: { n: 7 }, own: [] }]
  const rows = [`0,${JSON.stringify('line\nbreak')},${JSON.stringify({ tab: '\t' })}`, '1']
  expect(await store.appendAll!({ forms, rows, texts: [] })).toBe(7)
  return { folder, store }
}

it.each<[what: string, sql: string, position: number]>([
  ['a changed record', `UPDATE audit SET record = replace(record, '[0,3]', '[0,9]') WHERE position = 2`, 2],
  ['a changed form', `UPDATE audit SET record = replace(record, '"own":["n"]', '"own":["m"]') WHERE position = 2`, 2],
  ['a removed record', `UPDATE audit SET record = replace(record, '[0,3]' || char(10), '') WHERE position = 2`, 2],
  [
    'two swapped records',
    `UPDATE audit SET record = replace(record, '[0,2]' || char(10) || '[0,3]', '[0,3]' || char(10) || '[0,2]')
      WHERE position = 2`,
    2,
  ],
  ['a record that is not JSON', `UPDATE audit SET record = replace(record, '[0,3]', '[0,3') WHERE position = 2`, 3],
  ['a record without a form', `UPDATE audit SET record = replace(record, '[0,3]', '[1,3]') WHERE position = 2`, 3],
  ['a record with too few values', `UPDATE audit SET record = replace(record, '[0,3]', '[0]') WHERE position = 2`, 3],
  ['a record that is not a list', `UPDATE audit SET record = replace(record, '[0,3]', '3') WHERE position = 2`, 3],
  ['invalid forms', `UPDATE audit SET record = replace(record, '"own":["n"]', '"own":[1]') WHERE position = 2`, 2],
  ['a group without its form marker', `UPDATE audit SET record = trim(record, char(9)) WHERE position = 2`, 2],
  ['a removed group', 'DELETE FROM audit WHERE position = 2', 2],
  ['a removed last group', 'DELETE FROM audit WHERE position = 6', 6],
])('verifyAudit finds %s in a group', async (_, sql, position) => {
  const { folder, store } = await grouped()
  await store.close()
  using database = new DatabaseSync(folder.file)
  database.exec(sql)
  expect(await verifyAudit(await folder.open())).toMatchObject({ ok: false, position })
})

it('the file has only the digest of a digested string', async () => {
  const { folder, store } = await grouped()
  const forms = [{ same: { tool: 't' }, own: ['n', 'argsSha256'] }, { same: {}, own: ['n'] }]
  await store.appendAll!({
    forms, rows: ['0,8', '1,9', `0,${JSON.stringify('\0')}`], texts: ['{"secret":1}', undefined, ''],
  })
  expect(await verifyAudit(store)).toMatchObject({ ok: true, records: 10 })
  await store.close()
  expect(readFileSync(folder.file, 'latin1')).not.toContain('secret')
})

/** Verifies an export after a change. */
async function verdictOf(change: (entries: AuditEntry[]) => void) {
  const { store } = await grouped()
  const entries = structuredClone(await store.records()) as AuditEntry[]
  change(entries)
  const span = await store.auditSpan()
  return verifyAudit({
    auditSpan: async () => span, records: async (from = 1) => entries.filter(({ position }) => position >= from),
  })
}

it.each<[what: string, change: (entries: AuditEntry[]) => void, position: number]>([
  ['a changed record', (entries) => { entries[2] = { ...entries[2]!, record: { n: 9 } } }, 3],
  ['a changed last record', (entries) => { entries[6] = { ...entries[6]!, record: { n: 9 } } }, 7],
  ['a removed record', (entries) => { entries.splice(2, 1) }, 3],
  [
    'a changed text',
    (entries) => { entries[3] = { ...entries[3]!, text: entries[3]!.text!.replace('[0,3]', '[0,9]') } }, 2,
  ],
  ['a removed text', ([,,, entry]) => { delete (entry as { text?: string }).text }, 2],
])('verifyAudit finds %s in an export', async (_, change, position) => {
  expect(await verdictOf(() => {})).toMatchObject({ ok: true })
  expect(await verdictOf(change)).toMatchObject({ ok: false, position })
})

it('verifyAudit reports an unreadable text with a forged link as a changed record', async () => {
  const text = '\t[]\n[0]'
  const link = hash('sha256', `${'0'.repeat(64)} 1 ${text}`)
  const span = { first: 1, before: '0'.repeat(64), last: 1, link }
  const verdict = await verifyAudit({
    auditSpan: async () => span, records: async () => [{ position: 1, record: {}, link, text }],
  })
  expect(verdict).toMatchObject({ ok: false, position: 1 })
})

it('groups of an older version are read and verified', async () => {
  const { folder, store } = await grouped()
  const { link: before } = await store.auditSpan()
  await store.close()
  {
    using database = new DatabaseSync(folder.file)
    const text = '{"n":8}\n{"n":9}'
    const link = hash('sha256', `${before} 8 ${text}`)
    database.prepare('INSERT INTO audit VALUES (8, ?, ?)').run(text, link)
    database.prepare('UPDATE audit_end SET position = 9, link = ?').run(link)
    database.exec('DROP TABLE audit_start; DROP TABLE gate; DROP TABLE host; DROP TABLE shown; PRAGMA user_version = 2')
  }
  const again = await folder.open()
  expect(await again.appendAll!(numbers(10))).toBe(10)
  expect((await again.records(8)).map(({ record }) => record)).toEqual([{ n: 8 }, { n: 9 }, { n: 10 }])
  expect(await verifyAudit(again)).toMatchObject({ ok: true, records: 10 })
})
