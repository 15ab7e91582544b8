import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSqliteStore } from '../../src/index.ts'
import { StoreFolder } from './store-folder.ts'

const unavailable = (reason: string, cure: string) =>
  ({ code: 'StoreUnavailable', data: { reason }, message: expect.stringContaining(cure) })
const PAGE = 4_096
/** Overwrites a range of bytes, like a failing disk. */
function scribble(file: string, from: number, to?: number): void {
  writeFileSync(file, readFileSync(file).fill(0xff, from, to))
}
const modeOf = (path: string) => statSync(path).mode & 0o777

describe('opening a sqlite store', () => {
  let folder: StoreFolder
  beforeEach(() => { folder = new StoreFolder() })
  afterEach(() => folder[Symbol.asyncDispose]())

  /** A closed store with some records. */
  async function filled(): Promise<void> {
    const store = await folder.open()
    await Promise.all(Array.from({ length: 400 }, (_, n) => store.append({ n, filler: 'x'.repeat(500) })))
    await store.write('state', 'a', 1)
    await store.close()
  }

  it('creates the folder and the file with owner-only permissions', async () => {
    const file = join(folder.path, 'new', 'deep', 'host.db')
    const store = await folder.open({ file })
    await store.append(1)
    expect([dirname(dirname(file)), dirname(file)].map(modeOf)).toEqual([0o700, 0o700])
    expect([file, `${file}-wal`, `${file}-shm`, `${file}-end`].map(modeOf)).toEqual([0o600, 0o600, 0o600, 0o600])
  })

  it('removes permissions of other users from an existing store', async () => {
    await filled()
    chmodSync(folder.file, 0o644)
    const store = await folder.open()
    await store.append(1)
    expect(['', '-wal', '-shm'].map((suffix) => modeOf(`${folder.file}${suffix}`))).toEqual([0o600, 0o600, 0o600])
  })

  it('uses strict tables and a write-ahead log', async () => {
    await filled()
    using database = new DatabaseSync(folder.file)
    expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
    const tables = database.prepare(
      "SELECT name, strict FROM pragma_table_list WHERE name NOT LIKE 'sqlite%' ORDER BY name",
    )
    expect(tables.all()).toEqual([
      { name: 'approval_revision', strict: 1 }, { name: 'audit', strict: 1 }, { name: 'audit_end', strict: 1 },
      { name: 'audit_start', strict: 1 }, { name: 'entry', strict: 1 }, { name: 'gate', strict: 1 },
      { name: 'host', strict: 1 }, { name: 'shown', strict: 1 },
    ])
  })

  it.each([
    ['text', (file: string) => writeFileSync(file, 'not a database, but long enough to be one. '.repeat(20))],
    ['a store without a header', (file: string) => scribble(file, 0, 100)],
    ['a truncated store', (file: string) => truncateSync(file, 5_000)],
    ['a store with an overwritten first page', (file: string) => scribble(file, 100, PAGE)],
  ])('rejects %s and leaves it unchanged', async (_, damage) => {
    await filled()
    damage(folder.file)
    const before = readFileSync(folder.file)
    await expect(openSqliteStore({ file: folder.file })).rejects.toMatchObject(unavailable('corrupt', 'move it away'))
    expect(readFileSync(folder.file).equals(before)).toBe(true)
  })

  it('rejects a read from a damaged page', async () => {
    await filled()
    scribble(folder.file, 5 * PAGE)
    const store = await folder.open()
    await expect(store.records()).rejects.toMatchObject(unavailable('corrupt', 'restore a backup'))
  })

  it.each([
    'DROP TABLE audit_end', 'ALTER TABLE audit RENAME COLUMN link TO lynk',
  ])('rejects a store after %s', async (change) => {
    await filled()
    using database = new DatabaseSync(folder.file)
    database.exec(change)
    database.close()
    await expect(openSqliteStore({ file: folder.file })).rejects.toMatchObject(
      unavailable('corrupt', 'restore a backup'),
    )
  })

  it('rejects a write if audit records exist after the stored end', async () => {
    await filled()
    using database = new DatabaseSync(folder.file)
    database.exec('UPDATE audit_end SET position = 7')
    database.close()
    const store = await folder.open()
    await expect(store.append(1)).rejects.toMatchObject(unavailable('corrupt', 'restore a backup'))
    expect(await store.read('state', 'a')).toBe(1)
  })

  it('rejects a store of a newer version and leaves it unchanged', async () => {
    await filled()
    using newer = new DatabaseSync(folder.file)
    newer.exec('PRAGMA user_version = 99')
    newer.close()
    const before = readFileSync(folder.file)
    await expect(openSqliteStore({ file: folder.file })).rejects.toMatchObject({
      ...unavailable('newer', 'Update the host'), data: { reason: 'newer', version: 99, known: 5, file: folder.file },
    })
    expect(readFileSync(folder.file).equals(before)).toBe(true)
  })

  it('rejects the database of another program and leaves it unchanged', async () => {
    using other = new DatabaseSync(folder.file)
    other.exec('CREATE TABLE mine (x); INSERT INTO mine VALUES (1)')
    other.close()
    const before = readFileSync(folder.file)
    await expect(openSqliteStore({ file: folder.file })).rejects.toMatchObject(
      unavailable('foreign', 'Use another path'),
    )
    expect(readFileSync(folder.file).equals(before)).toBe(true)
  })

  it.each(['', '-wal', '-shm', '-journal', '-end'])('rejects a symbolic link in place of file%s', async (suffix) => {
    const target = join(folder.path, 'precious')
    writeFileSync(target, '')
    symlinkSync(target, `${folder.file}${suffix}`)
    await expect(openSqliteStore({ file: folder.file })).rejects.toMatchObject(unavailable('link', 'symbolic link'))
    expect(readFileSync(target, 'utf8')).toBe('')
  })

  it('rejects a rollback journal, which SQLite would write into the store', async () => {
    await filled()
    writeFileSync(`${folder.file}-journal`, 'pages of someone else')
    const before = readFileSync(folder.file)
    await expect(openSqliteStore({ file: folder.file }))
      .rejects.toMatchObject(unavailable('corrupt', 'rollback journal'))
    expect(readFileSync(folder.file).equals(before)).toBe(true)
    writeFileSync(`${folder.file}-journal`, '')
    await (await openSqliteStore({ file: folder.file })).close()
  })

  it('rejects a dangling link without creating its target, and rejects a folder', async () => {
    symlinkSync(join(folder.path, 'nowhere'), folder.file)
    await expect(openSqliteStore({ file: folder.file })).rejects.toMatchObject(unavailable('link', 'symbolic link'))
    expect(existsSync(join(folder.path, 'nowhere'))).toBe(false)
    await expect(openSqliteStore({ file: folder.path })).rejects.toMatchObject(
      unavailable('link', 'not a regular file'),
    )
  })

  it('rejects a folder without write permission, with or without the file', async () => {
    await filled()
    chmodSync(folder.path, 0o555)
    chmodSync(folder.file, 0o444)
    const missing = join(folder.path, 'new', 'host.db')
    const attempts = asNobody(() => [openSqliteStore({ file: folder.file }), openSqliteStore({ file: missing })])
    for (const attempt of attempts) await expect(attempt).rejects.toMatchObject(unavailable('location', 'permissions'))
    chmodSync(folder.path, 0o700)
  })

  it('rejects a path below a file', async () => {
    writeFileSync(join(folder.path, 'file'), '')
    const opening = openSqliteStore({ file: join(folder.path, 'file', 'host.db') })
    await expect(opening).rejects.toMatchObject(unavailable('location', 'permissions'))
  })

  it.each([0, -1, 1.5, Number.NaN, Infinity, 65_535])('rejects a maxBytes of %d', async (maxBytes) => {
    await expect(openSqliteStore({ file: folder.file, maxBytes })).rejects.toMatchObject({ code: 'ConfigInvalid' })
    expect(existsSync(folder.file)).toBe(false)
  })

  it('stays below maxBytes, keeps its records, and accepts writes again once there is space', async () => {
    const maxBytes = 256 * 1024
    const store = await folder.open({ maxBytes })
    await store.write('state', 'big', 'x'.repeat(50_000))
    let kept = 0
    const fill = async () => { for (;;) kept = await store.append('y'.repeat(5_000)) }
    await expect(fill()).rejects.toMatchObject(unavailable('full', 'raise maxBytes'))
    expect(statSync(folder.file).size).toBeLessThanOrEqual(maxBytes)
    expect(await store.records()).toHaveLength(kept)
    // Only the write that does not fit fails.
    const together = await Promise.allSettled([
      store.append(1), store.append('z'.repeat(100_000)), store.remove('state', 'big'),
    ])
    expect(together.map((each) => each.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await store.append('y'.repeat(5_000))).toBe(kept + 2)
    await store.close()
    expect(statSync(folder.file).size).toBeLessThanOrEqual(maxBytes)

    const larger = await folder.open({ maxBytes: maxBytes * 2 })
    expect(await larger.append('w'.repeat(100_000))).toBe(kept + 3)
    await larger.close()
    const smaller = await folder.open({ maxBytes })
    expect(await smaller.records(kept + 2, 1)).toHaveLength(1)
    await expect(smaller.append('v'.repeat(100_000))).rejects.toMatchObject(unavailable('full', 'raise maxBytes'))
  })
})

/** Drops root privileges, because root can write everywhere. Applies until the first await. */
function asNobody<T>(act: () => T): T {
  const root = process.geteuid?.() === 0
  if (root) process.seteuid?.(65_534)
  try {
    return act()
  } finally {
    if (root) process.seteuid?.(0)
  }
}
