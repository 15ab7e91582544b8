import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { AuditGroup, Store } from '@bulkhead/contract'
import { ThreadImage } from '@bulkhead/kit/thread-image'
import { afterEach, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { draftGroup } from '../../src/records/audit-group.ts'
import { verifyAudit } from '../../src/index.ts'
import { AuditThread, AuditWriter } from '../../src/sqlite/audit/audit-writer.ts'
import { CommitQueue } from '../../src/sqlite/commit-queue.ts'
import { pragmaNumber } from '../../src/sqlite/schema.ts'
import { StoreFolder } from './store-folder.ts'

let opened = new AsyncDisposableStack()
afterEach(async () => {
  await opened.disposeAsync()
  opened = new AsyncDisposableStack()
})

async function newStore(options: { readonly maxBytes?: number } = {}) {
  const folder = opened.use(new StoreFolder())
  return { folder, store: await folder.open(options) }
}

/** Numbered records from `first` on, each with a digested string. */
function group(first: number, length: number): AuditGroup {
  const numbers = Array.from({ length }, (_, index) => first + index)
  return {
    forms: [{ same: { by: 'test' }, own: ['n', 'sha256'] }],
    rows: numbers.map((n) => `0,${n}`),
    texts: numbers.map((n) => `text ${n}`),
  }
}

const numbersIn = async (store: Store): Promise<unknown[]> =>
  (await store.records()).map(({ record }) => (record as { n: number }).n)
const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1)

async function readyThread(file: string, maxPages: number, lockWaitMs?: number): Promise<AuditThread> {
  const thread = new AuditThread(file, maxPages, undefined, lockWaitMs)
  while (!thread.ready) await sleep(5)
  return thread
}

it('the audit writer moves to a thread under load and keeps the order of records', LONG, async () => {
  const { folder, store } = await newStore()
  using database = new DatabaseSync(folder.file)
  const queue = new CommitQueue(database, folder.file)
  const writer = new AuditWriter(database, folder.file, queue)
  const added: Promise<number>[] = []
  let next = 1
  const add = (size: number) => {
    added.push(writer.add(draftGroup(group(next, size))))
    next += size
  }
  for (let n = 0; n < 20; n++) add(1)
  await Promise.all(added)
  expect(writer.isThreaded).toBe(false)
  for (let turn = 0; !writer.isThreaded; turn++) {
    add(turn === 0 ? 200 : 3)
    await nextTurn()
  }
  for (let n = 0; n < 50; n++) add(1 + n)
  const positions = await Promise.all(added)
  expect(positions.at(-1)).toBe(next - 1)
  expect(positions).toEqual(positions.toSorted((a, b) => a - b))
  await writer.close()
  await queue.close()
  expect(await numbersIn(store)).toEqual(upTo(next - 1))
  expect(await verifyAudit(store)).toMatchObject({ ok: true, records: next - 1 })
})

it('a store reads the records of both writers under load, and closes after the last write', async () => {
  const { folder, store } = await newStore()
  let last = 0
  const added: Promise<number>[] = []
  for (let n = 0; n < 60; n++) {
    added.push(store.appendAll!(group(last + 1, 200)))
    last += 200
    if (n % 20 === 19) expect(await numbersIn(store)).toEqual(upTo(last))
    expect((await store.auditSpan()).last).toBe(last)
  }
  added.push(store.appendAll!(group(last + 1, 200)), store.append({ n: last + 201 }))
  await store.close()
  expect((await Promise.all(added)).at(-1)).toBe(last + 201)
  const again = await folder.open()
  expect(await verifyAudit(again)).toMatchObject({ ok: true, records: last + 201 })
})

it('drafts that the thread had not answered when it ended are rejected', async () => {
  const { folder } = await newStore()
  const thread = new AuditThread(
    folder.file, 1_000, new ThreadImage(new URL('fixtures/dying-thread.ts', import.meta.url)),
  )
  while (!thread.ready) await sleep(5)
  const added = await Promise.allSettled([1, 2, 3].map((n) => thread.add(draftGroup(group(n, 1)))))
  expect(added).toMatchObject([
    { status: 'fulfilled', value: 7 },
    { status: 'rejected', reason: { code: 'StoreUnavailable', message: expect.stringContaining('the thread dies') } },
    { status: 'rejected', reason: { code: 'StoreUnavailable' } },
  ])
  expect(thread.ready).toBe(false)
  await thread.settled()
  await thread.close()
})

it('the thread respects the size limit and the locks of other connections', async () => {
  const { folder, store } = await newStore()
  using other = new DatabaseSync(folder.file)
  const thread = await readyThread(folder.file, pragmaNumber(other, 'page_count') + 10)
  other.exec('BEGIN IMMEDIATE')
  const added = thread.add(draftGroup(group(1, 5)))
  expect((await store.auditSpan()).last).toBe(0)
  other.exec('COMMIT')
  expect(await added).toBe(5)
  await expect(thread.add(draftGroup(group(6, 20_000)))).rejects.toMatchObject({
    code: 'StoreUnavailable', data: { reason: 'full' },
  })
  await thread.close()
  expect(await numbersIn(store)).toEqual(upTo(5))
})

it('the thread refuses groups while the file is locked, and takes them again afterwards', async () => {
  const { folder } = await newStore()
  using other = new DatabaseSync(folder.file)
  const thread = await readyThread(folder.file, 1_000, 300)
  other.exec('BEGIN IMMEDIATE')
  const drafts = [1, 2, 3].map((n) => thread.add(draftGroup(group(n, 1))))
  const refused = { code: 'StoreUnavailable', data: { reason: 'busy' } }
  for (const draft of drafts) await expect(draft).rejects.toMatchObject(refused)
  other.exec('COMMIT')
  expect(await thread.add(draftGroup(group(4, 1)))).toBe(1)
  await thread.close()
})

it('the writer continues without a thread if the thread cannot open the file', async () => {
  const { folder } = await newStore()
  const thread = new AuditThread(`${folder.file}/none`, 1_000)
  await thread.close()
  expect(thread.ready).toBe(false)
})
