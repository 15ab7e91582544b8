import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { draftGroup } from '../../src/records/audit-group.ts'
import { AuditThread } from '../../src/sqlite/audit/audit-writer.ts'
import { StoreFolder } from './store-folder.ts'
import { CALL, join } from './seats.ts'

const MOVED = {
  code: 'StoreUnavailable', data: { reason: 'location' },
  message: expect.stringContaining('was removed or moved while it was in use'),
}

const HANGS_MS = 60_000

let folder: StoreFolder
beforeEach(() => { folder = new StoreFolder() })
afterEach(() => folder[Symbol.asyncDispose]())

it('a store rejects reads and writes while the file is moved away', async () => {
  const store = await folder.open()
  await store.write('state', 'a', 1)
  renameSync(folder.file, `${folder.file}.away`)
  await expect(store.write('state', 'a', 2)).rejects.toMatchObject(MOVED)
  await expect(Promise.all([store.append('one'), store.append('two')])).rejects.toMatchObject(MOVED)
  await expect(store.list('state')).rejects.toMatchObject(MOVED)
  await expect(store.work!.revision()).rejects.toMatchObject(MOVED)
  expect(() => store.requireFiles!()).toThrow('was removed or moved')
  renameSync(`${folder.file}.away`, folder.file)
  await store.write('state', 'b', 3)
  expect(await store.read('state', 'b')).toBe(3)
})

it.each(['-wal', '-shm'])('a store rejects writes and calls after file%s was removed', async (suffix) => {
  const store = await folder.open()
  await store.write('state', 'a', 1)
  store.requireFiles!()
  rmSync(`${folder.file}${suffix}`)
  await expect(store.write('state', 'a', 2)).rejects.toMatchObject(MOVED)
  await vi.waitFor(() => expect(() => store.requireFiles!()).toThrow('was removed or moved'), HANGS_MS)
})

it('a call needs the journal that its host has written so far', async () => {
  const store = await folder.open()
  const seat = await join(store.work!, 'me')
  const start = () => seat.open(CALL).start({ at: 1, revision: undefined, isInline: true })
  await start()
  await start()
  const journal = `${folder.path}/${readdirSync(folder.path).find((name) => name.includes('-notes-'))}`
  rmSync(journal)
  // The calls of one tick share a look.
  await nextTurn()
  await expect(start()).rejects.toThrow('was removed or moved')
  writeFileSync(journal, '')
  await expect(start()).rejects.toThrow('was removed or moved')
  const paths = readdirSync(folder.path).map((name) => `${folder.path}/${name}`)
  expect(paths.filter((path) => !store.files!.some((file) => path.startsWith(file)))).toEqual([])
})

it('the audit thread rejects writes while the file is moved away', async () => {
  await folder.open()
  const thread = new AuditThread(folder.file, 1_000)
  await expect.poll(() => thread.ready).toBe(true)
  renameSync(folder.file, `${folder.file}.away`)
  await expect(thread.add(draftGroup({ forms: [], rows: [], texts: [] }))).rejects.toMatchObject(MOVED)
  renameSync(`${folder.file}.away`, folder.file)
  await thread.close()
})
