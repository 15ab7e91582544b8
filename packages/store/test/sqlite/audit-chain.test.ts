import { DatabaseSync } from 'node:sqlite'
import { hash } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { AuditCheck, verifyAudit } from '../../src/index.ts'
import { StoreFolder } from './store-folder.ts'

let folders = new AsyncDisposableStack()
const newFolder = () => folders.use(new StoreFolder())
afterEach(async () => {
  await folders.disposeAsync()
  folders = new AsyncDisposableStack()
})

/** A closed store with ten records. */
const original = new StoreFolder()
let end: { readonly position: number; readonly link: string }
beforeAll(async () => {
  const store = await original.open()
  for (let n = 1; n <= 10; n++) await store.append({ n, text: `record ${n}` })
  const { last, link } = await store.auditSpan()
  end = { position: last, link }
  await store.close()
})
afterAll(() => original[Symbol.asyncDispose]())

/** A copy of that store, changed by SQL. */
async function tampered(sql: string, then?: (database: DatabaseSync) => void) {
  const folder = newFolder()
  copyFileSync(original.file, folder.file)
  using database = new DatabaseSync(folder.file)
  database.exec(sql)
  then?.(database)
  const store = await folder.open()
  return { store, noted: end }
}

describe('the audit chain', () => {
  it.each<[what: string, sql: string, position: number]>([
    ['a changed record', `UPDATE audit SET record = '{"n":4,"text":"other"}' WHERE position = 4`, 4],
    ['a record that is not JSON', `UPDATE audit SET record = '{"n":4' WHERE position = 4`, 4],
    ['a changed link', `UPDATE audit SET link = '${'f'.repeat(64)}' WHERE position = 5`, 5],
    ['a removed record', 'DELETE FROM audit WHERE position = 6', 6],
    [
      'a removed record with renumbered followers',
      'DELETE FROM audit WHERE position = 6; UPDATE audit SET position = position - 1 WHERE position > 6', 6,
    ],
    ['a removed first record', 'DELETE FROM audit WHERE position = 1', 1],
    ['a removed last record', 'DELETE FROM audit WHERE position = 10', 10],
    ['an emptied table', 'DELETE FROM audit', 1],
    [
      'two that changed places',
      'UPDATE audit SET position = 99 WHERE position = 3; UPDATE audit SET position = 3 WHERE position = 7; '
        + 'UPDATE audit SET position = 7 WHERE position = 99',
      3,
    ],
    ['an inserted record', `INSERT INTO audit SELECT 11, record, link FROM audit WHERE position = 10`, 11],
    ['a removed end', 'DELETE FROM audit_end', 1],
  ])('shows %s', async (_, sql, position) => {
    const { store } = await tampered(sql)
    expect(await verifyAudit(store)).toMatchObject({ ok: false, position, reason: expect.any(String) })
    const check = new AuditCheck(store)
    await check.step(1)
    expect(check.progress).toMatchObject({ broken: { position, reason: expect.any(String) } })
  })

  it('is valid when nothing was changed, and continues', async () => {
    const { store, noted } = await tampered('')
    await store.append('later')
    expect(await verifyAudit(store, noted)).toMatchObject({ ok: true, records: 11, last: 11 })
  })

  it('detects a completely rewritten chain only with a link that was saved elsewhere', async () => {
    const { store, noted } = await tampered(`UPDATE audit SET record = '"forged"' WHERE position = 2`, (database) => {
      let link = '0'.repeat(64)
      const rows = database.prepare('SELECT position, record FROM audit ORDER BY position').all()
      for (const { position, record } of rows) {
        link = hash('sha256', `${link} ${Number(position)} ${String(record)}`)
        database.prepare('UPDATE audit SET link = ? WHERE position = ?').run(link, Number(position))
      }
      database.prepare('UPDATE audit_end SET link = ?').run(link)
    })
    expect(await verifyAudit(store)).toMatchObject({ ok: true })
    expect(await verifyAudit(store, noted)).toMatchObject({ ok: false, position: 10 })
  })

  it('is valid while hosts write to it', async () => {
    const { store } = await tampered('')
    const meanwhile = async <Value>(look: () => Promise<Value>): Promise<Value> => {
      const seen = await look()
      await store.appendAll!({ forms: [{ same: {}, own: ['n'] }], rows: ['0,"one"', '0,"more"'], texts: [] })
      return seen
    }
    const busy = {
      auditSpan: () => meanwhile(() => store.auditSpan()),
      records: (from?: number, limit?: number) => meanwhile(() => store.records(from, limit)),
    }
    expect(await verifyAudit(busy)).toMatchObject({ ok: true, records: 10 })
  })
})
