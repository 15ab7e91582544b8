import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { migrate, pragmaNumber, refuseForeignFile } from '../../src/sqlite/schema.ts'
import { StoreFolder } from './store-folder.ts'

const steps = [
  'CREATE TABLE a (x TEXT) STRICT',
  "INSERT INTO a VALUES ('kept'); ALTER TABLE a ADD COLUMN y TEXT",
  'CREATE TABLE b (x TEXT) STRICT',
]

/** Simulates a full disk: SQLite rolls back and reports the error. */
class FailingDatabase extends DatabaseSync {
  override prepare(): never {
    this.exec('ROLLBACK')
    throw new Error('disk I/O error')
  }
}

describe('migrations', () => {
  it('apply only the steps that a file lacks', () => {
    using database = new DatabaseSync(':memory:')
    migrate(database, steps.slice(0, 1))
    expect(pragmaNumber(database, 'user_version')).toBe(1)
    migrate(database, steps)
    migrate(database, steps)
    expect(pragmaNumber(database, 'user_version')).toBe(3)
    expect(database.prepare('SELECT x, y FROM a').all()).toEqual([{ x: 'kept', y: null }])
    refuseForeignFile(database, 'it', steps)
  })

  it('roll back a failed step and keep the earlier ones', () => {
    using database = new DatabaseSync(':memory:')
    const failing = 'CREATE TABLE c (x TEXT) STRICT; CREATE TABLE a (x TEXT)'
    expect(() => migrate(database, [...steps.slice(0, 1), failing])).toThrow('already exists')
    expect(pragmaNumber(database, 'user_version')).toBe(1)
    expect(database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()).toEqual([{ name: 'a' }])
    expect(database.isTransaction).toBe(false)
  })

  it('report a disk error during identification', () => {
    using database = new FailingDatabase(':memory:')
    expect(() => refuseForeignFile(database, 'it', steps)).toThrow('disk I/O error')
  })

  it('run once when two hosts start at the same time', async () => {
    await using folder = new StoreFolder()
    const stores = await Promise.all(Array.from({ length: 8 }, () => folder.open()))
    await Promise.all(stores.map((store, n) => store.append(n)))
    expect(await stores[0]?.records()).toHaveLength(8)
  })

  it('keep the records of a store of an older version', async () => {
    await using folder = new StoreFolder()
    const first = await folder.open()
    await first.write('approval', 'a', 1)
    await first.close()
    const database = new DatabaseSync(folder.file)
    database.exec(`DROP TRIGGER approval_added; DROP TRIGGER approval_changed; DROP TRIGGER approval_removed;
      DROP TABLE approval_revision; DROP TABLE audit_start; DROP TABLE gate; DROP TABLE host; DROP TABLE shown;
      PRAGMA user_version = 1`)
    database.close()
    const again = await folder.open()
    expect(await again.read('approval', 'a')).toBe(1)
    const before = await again.work!.revision()
    await again.write('approval', 'a', 2)
    expect(await again.work!.revision()).not.toBe(before)
  })
})
