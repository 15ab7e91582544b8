import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Freeze, Seat, Started, Store } from '@bulkhead/contract'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { CALL, join } from './seats.ts'
import { StoreFolder } from './store-folder.ts'

// `verifyStore` of @bulkhead/conformance verifies what every store must do. This is what SQLite does beyond that.

let folder: StoreFolder
let store: Store
beforeEach(async () => {
  folder = new StoreFolder()
  store = await folder.open()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await folder[Symbol.asyncDispose]()
})

const start = (seat: Seat, revision?: number): Promise<Started> =>
  seat.open(CALL).start({ at: 1, revision, isInline: true })
const verdict = async (seat: Seat, revision?: number): Promise<string> => {
  try {
    return (await start(seat, revision)).is
  } catch (error) {
    return (error as { readonly data: { readonly reason: string } }).data.reason
  }
}
/** Changes the file as another process does. */
function outside(statement: string): void {
  using other = new DatabaseSync(folder.file)
  other.exec(statement)
}

it('a start that rests on approvals sees at once what another process has changed', async () => {
  const seat = await join(store.work!, 'a')
  const revision = await store.work!.revision()
  expect(await verdict(seat, revision)).toBe('started')
  outside("INSERT INTO entry VALUES ('approval', 'x', '1')")
  await sleep(1)
  expect(await verdict(seat, revision)).toBe('changed')
  outside('UPDATE gate SET number = number + 1, freeze = \'{"since":5,"by":"Ada"}\'')
  await sleep(1)
  expect(await start(seat, revision)).toEqual({ is: 'frozen', freeze: { since: 5, by: 'Ada' } })
  outside('UPDATE gate SET freeze = NULL; DELETE FROM host')
  await sleep(1)
  expect(await verdict(seat, revision)).toBe('seat-lost')
})

it('a host that was removed from outside is not listed any more, and holds up no freeze', async () => {
  const seat = await join(store.work!, 'a')
  const call = seat.open(CALL)
  await call.start({ at: 1, revision: undefined, isInline: true })
  call.end()
  outside('DELETE FROM host')
  expect(await verdict(seat, await store.work!.revision())).toBe('seat-lost')
  expect(await store.work!.hosts()).toEqual([])
  expect(await store.work!.freeze({ by: 'Ada' })).toMatchObject({ unconfirmed: [] })
})

it('any other start rests on what was seen half a second ago at most', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] })
  const seat = await join(store.work!, 'a')
  vi.useRealTimers()
  outside('UPDATE gate SET number = number + 1, freeze = \'{"since":5,"by":"Ada"}\'')
  expect(await verdict(seat)).toBe('started')
  const now = performance.now.bind(performance)
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 501)
  expect(await verdict(seat)).toBe('frozen')
  clock.mockRestore()
  // What froze is looked at again, so a call starts as soon as it is thawed.
  outside('UPDATE gate SET freeze = NULL')
  expect(await verdict(seat)).toBe('started')
})

it('calls of one tick are in the journal before the first of them is sent', async () => {
  const seat = await join(store.work!, 'a')
  const entries = ['one', 'two'].map((callId) => seat.open({ ...CALL, callId }))
  void entries[0]!.start({ at: 1, revision: undefined, isInline: false })
  const journal = globSync(`${folder.file}-notes-*`).map((file) => readFileSync(file, 'utf8')).join()
  expect(journal).toMatch(/"one"[^]*"two"/)
})

it('a freeze that cannot be read freezes', async () => {
  const seat = await join(store.work!, 'a')
  outside("UPDATE gate SET freeze = 'what'")
  expect(await verdict(seat, await store.work!.revision())).toBe('frozen')
})

it('a host that hears of a freeze confirms it, and one that does not is reported', async () => {
  const heard: (Freeze | undefined)[] = []
  await join(store.work!, 'hears', { onGate: (freeze) => void heard.push(freeze) })
  const other = await folder.open()
  outside(`INSERT INTO host VALUES ('mute', '{"pid":7}', '${process.pid}-', 1, 1, 0, 0, NULL)`)
  const { freeze, unconfirmed } = await other.work!.freeze({ by: 'Ada' })
  expect(heard).toEqual([freeze])
  expect(unconfirmed).toMatchObject([{ id: 'mute', pid: 7, state: 'silent', isFrozen: false }])
})

it('a host of an earlier version that still runs cannot confirm a freeze', async () => {
  writeFileSync(`${folder.file}-notes-${process.pid}--old`, '')
  expect((await store.work!.freeze({ by: 'Ada' })).unconfirmed).toMatchObject([{ pid: process.pid, version: '' }])
})

it('a host that could not write its heartbeat for long starts nothing until it can', async () => {
  const seat = await join(store.work!, 'a')
  const now = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 16_000)
  using other = new DatabaseSync(folder.file)
  other.exec('BEGIN IMMEDIATE')
  let seen: string | undefined
  const started = start(seat).then(({ is }) => { seen = is })
  await sleep(50)
  expect(seen).toBeUndefined()
  other.exec('COMMIT')
  await started
  expect(seen).toBe('started')
})

it('a host that leaves without open calls is forgotten, and one with open calls is gone', async () => {
  const [idle, busy] = [await join(store.work!, 'idle'), await join(store.work!, 'busy')]
  await start(busy)
  await Promise.all([idle.leave(), busy.leave()])
  expect(await store.work!.hosts()).toMatchObject([{ id: 'busy', state: 'gone', calls: [{ callId: 'c' }] }])
  expect([await store.work!.isGone('idle'), await store.work!.isGone('busy')]).toEqual([true, true])
})

it('the claim of a host that is gone is void', async () => {
  const [left, first, second] = await Promise.all(['left', 'first', 'second'].map((id) => join(store.work!, id)))
  await start(left!)
  await left!.leave()
  expect(await first!.takeOver('left')).toMatchObject([{ callId: 'c' }])
  expect(await second!.takeOver('left')).toBeUndefined()
  await first!.leave()
  expect(await second!.takeOver('left')).toMatchObject([{ callId: 'c' }])
})

it('a store of the released version is migrated, with its approvals and its open calls', async () => {
  await store.close()
  await using older = new StoreFolder()
  {
    using database = new DatabaseSync(older.file)
    database.exec(RELEASED)
  }
  const form = '{"form":1,"sessionId":"s","tool":"t","effects":"once"}'
  writeFileSync(`${older.file}-notes-1-0-gone`, `+1 ${form}\n+2 [1,"c",5]\n`)
  const opened = await older.open()
  expect(await opened.read('approval', 'a')).toEqual({ ended: null })
  expect(await opened.work!.revision()).toBe(1)
  const seat = await join(opened.work!, 'next')
  vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error('no such process'), { code: 'ESRCH' })
  })
  expect(await seat.takeOver('1-0-gone')).toMatchObject([{ callId: 'c', tool: 't', startedAt: 5 }])
  await seat.discard('1-0-gone')
  expect((await opened.work!.hosts()).map(({ id }) => id)).toEqual(['next'])
})

/** What version 1.0.0 writes: recorded with `.dump`, after one approval. */
const RELEASED = `
PRAGMA application_id = 0x424b4844;
PRAGMA user_version = 4;
CREATE TABLE entry (
  collection TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (collection, key)
) STRICT;
CREATE TABLE audit (position INTEGER PRIMARY KEY, record TEXT NOT NULL, link TEXT NOT NULL) STRICT;
CREATE TABLE audit_end (
  one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL, link TEXT NOT NULL
) STRICT;
CREATE TABLE approval_revision (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL) STRICT;
CREATE TABLE audit_start (
  one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL, link TEXT NOT NULL
) STRICT;
INSERT INTO approval_revision VALUES (1, 0);
CREATE TRIGGER approval_added AFTER INSERT ON entry WHEN new.collection = 'approval'
  BEGIN UPDATE approval_revision SET number = number + 1; END;
CREATE TRIGGER approval_changed AFTER UPDATE ON entry WHEN new.collection = 'approval'
  BEGIN UPDATE approval_revision SET number = number + 1; END;
CREATE TRIGGER approval_removed AFTER DELETE ON entry WHEN old.collection = 'approval'
  BEGIN UPDATE approval_revision SET number = number + 1; END;
INSERT INTO entry VALUES ('approval', 'a', '{"ended":null}');
`
