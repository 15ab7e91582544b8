import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Store } from '@bulkhead/contract'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openSqliteStore, verifyAudit } from '../../src/index.ts'
import { StoreFolder } from './store-folder.ts'

let folder: StoreFolder
let other: StoreFolder
beforeEach(() => { [folder, other] = [new StoreFolder(), new StoreFolder()] })
afterEach(async () => {
  await folder[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
})

/** Copies the files as a killed host would leave them. */
function leave(): string {
  for (const name of readdirSync(folder.path)) copyFileSync(join(folder.path, name), join(other.path, name))
  return join(other.path, basename(folder.file))
}

/** All files except those that opening the store creates again. */
const filesOf = (file: string) => readdirSync(dirname(file)).filter((name) => !name.endsWith('-shm'))
  .map((name) => [name, readFileSync(join(dirname(file), name), 'base64')])
  .filter(([name, bytes]) => name === basename(file) || bytes !== '')

async function write(store: Store, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await store.append({ n })
}

const flip = (path: string): void => {
  const bytes = readFileSync(path)
  bytes[bytes.length >> 1]! ^= 4
  writeFileSync(path, bytes)
}

it.each([
  ['a log with a flipped bit', (file: string) => flip(`${file}-wal`)],
  ['a truncated log', (file: string) => truncateSync(`${file}-wal`, 30_000)],
  ['an empty log', (file: string) => truncateSync(`${file}-wal`)],
  ['a missing log', (file: string) => rmSync(`${file}-wal`)],
])('a store with %s is rejected, is not changed, and opens after the mark was removed', async (_, damage) => {
  await write(await folder.open(), 40)
  const file = leave()
  damage(file)
  const before = filesOf(file)
  await expect(openSqliteStore({ file })).rejects.toMatchObject({
    code: 'StoreUnavailable', data: { reason: 'corrupt', acknowledged: 40 },
    message: expect.stringContaining(`remove ${file}-end`),
  })
  expect(filesOf(file)).toEqual(before)
  rmSync(`${file}-end`)
  const store = await other.open()
  expect((await store.records()).length).toBeLessThan(40)
  await store.append('on')
  expect(await verifyAudit(store)).toMatchObject({ ok: true })
})

it.each([
  ['emptied', (file: string) => truncateSync(file)],
  ['removed', (file: string) => rmSync(file)],
])('a file that was %s while its log exists is rejected and not changed', async (_, damage) => {
  await write(await folder.open(), 3)
  const file = leave()
  damage(file)
  const before = filesOf(file)
  await expect(openSqliteStore({ file })).rejects.toMatchObject({
    code: 'StoreUnavailable', data: { reason: 'corrupt' }, message: expect.stringContaining(`move ${file}-wal away`),
  })
  expect(filesOf(file)).toEqual(before)
})

it('an emptied file without a log is rejected, and an older copy next to the files of a killed host', async () => {
  const store = await folder.open()
  await write(store, 3)
  await store.close()
  const file = leave()
  await write(await folder.open(), 2)
  copyFileSync(`${folder.file}-end`, `${file}-end`)
  await expect(openSqliteStore({ file })).rejects.toMatchObject({
    data: { reason: 'corrupt', acknowledged: 5, last: 3 },
  })
  truncateSync(file)
  await expect(openSqliteStore({ file })).rejects.toMatchObject({
    data: { reason: 'corrupt', acknowledged: 5, last: 0 },
  })
  expect(readFileSync(file)).toHaveLength(0)
})

it('another store in place of the original is rejected', async () => {
  await (await folder.open()).append('one')
  const store = await other.open()
  await store.append('other')
  await store.close()
  copyFileSync(`${folder.file}-end`, `${other.file}-end`)
  await expect(openSqliteStore({ file: other.file })).rejects.toMatchObject({
    data: { reason: 'corrupt', acknowledged: 1, last: 1 },
  })
})

it('an intact store is opened, written by the queue, by the thread, or by both', async () => {
  const store = await folder.open()
  const group = { forms: [{ same: {}, own: ['n'] }], rows: Array.from({ length: 200 }, (_, n) => `0,${n}`), texts: [] }
  for (let round = 0; round < 20; round++) {
    await Promise.all([
      store.append(round), store.appendAll!(group), store.write('state', 'a', round), store.append(round),
    ])
    const file = leave()
    const copy = await openSqliteStore({ file })
    expect(await copy.records()).toHaveLength((round + 1) * 202)
    await copy.close()
  }
  expect(readFileSync(`${folder.file}-end`, 'utf8').trim().split(' ')).toEqual(['4040', (await store.auditSpan()).link])
})

it('the mark is removed when the last connection closes', async () => {
  const [one, two] = [await folder.open(), await folder.open()]
  await write(one, 3)
  await one.close()
  expect(existsSync(`${folder.file}-end`)).toBe(true)
  await two.close()
  expect(readdirSync(folder.path)).toEqual([basename(folder.file)])
})

it('a new store is created after the old one was removed', async () => {
  await write(await folder.open(), 3)
  const file = leave()
  rmSync(file)
  rmSync(`${file}-wal`)
  const anew = await other.open()
  expect(existsSync(`${file}-end`)).toBe(false)
  expect(await anew.append(1)).toBe(1)
})
