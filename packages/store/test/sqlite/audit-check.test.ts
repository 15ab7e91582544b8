import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { AuditCheck } from '../../src/index.ts'
import { StoreFolder } from './store-folder.ts'

let folder: StoreFolder
beforeEach(() => { folder = new StoreFolder() })
afterEach(() => folder[Symbol.asyncDispose]())

const RECORDS = 1_200
const opened = async () => {
  const store = await folder.open()
  await Promise.all(Array.from({ length: RECORDS }, (_, n) => store.append({ n })))
  return store
}

it('goes on where it stopped, also with records that were written meanwhile', async () => {
  const store = await opened()
  let time = 0
  const check = new AuditCheck(store, () => time)
  expect(check.progress).toBeUndefined()
  await check.step(1)
  expect(check.progress).toMatchObject({ first: 1, isComplete: false })
  expect(check.progress!.last).toBeLessThan(RECORDS)
  time = 5
  await check.step(10_000)
  expect(check.progress).toEqual({ first: 1, last: RECORDS, since: 0, at: 5, isComplete: true })
  await store.append({ later: true })
  await check.step(1)
  expect(check.progress).toMatchObject({ last: RECORDS + 1, isComplete: true })
})

it('sees that records which it has verified are gone or rewritten, and verifies all again after an hour', async () => {
  let store = await opened()
  let time = 0
  const records = (...page: [number?, number?]) => store.records(...page)
  const source = { records, auditSpan: () => store.auditSpan() }
  const check = new AuditCheck(source, () => time)
  await check.step(10_000)
  await store.close()
  using database = new DatabaseSync(folder.file)
  database.exec(`UPDATE audit SET record = '{"n":4,"text":"other"}' WHERE position = 1`)
  store = await folder.open()
  await check.step(10_000)
  expect(check.progress!.broken).toBeUndefined()
  time = 60 * 60_000 + 1
  await check.step(10_000)
  expect(check.progress).toMatchObject({ since: time, broken: { position: 1 } })
})
