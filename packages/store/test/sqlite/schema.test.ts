import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { migrate, pragmaNumber, refuseForeignFile } from '../../src/sqlite/schema.ts'
import { StoreFolder } from './store-folder.ts'

const steps = [
  'CREATE TABLE a (x TEXT) STRICT',
  "INSERT INTO a VALUES ('kept'); ALTER TABLE a ADD COLUMN y TEXT",
  'CREATE TABLE b (x TEXT) STRICT',
]

/** As where the disk is full: SQLite ends the transaction itself and says why. */
class FailingDatabase extends DatabaseSync {
  override prepare(): never {
    this.exec('ROLLBACK')
    throw new Error('disk I/O error')
  }
}

describe('migrations', () => {
  it('go forward from wherever the file is, once', () => {
    using database = new DatabaseSync(':memory:')
    migrate(database, steps.slice(0, 1))
    expect(pragmaNumber(database, 'user_version')).toBe(1)
    migrate(database, steps)
    migrate(database, steps)
    expect(pragmaNumber(database, 'user_version')).toBe(3)
    expect(database.prepare('SELECT x, y FROM a').all()).toEqual([{ x: 'kept', y: null }])
    refuseForeignFile(database, 'it', steps)
  })

  it('undo a step that fails, and keep those before it', () => {
    using database = new DatabaseSync(':memory:')
    const failing = 'CREATE TABLE c (x TEXT) STRICT; CREATE TABLE a (x TEXT)'
    expect(() => migrate(database, [...steps.slice(0, 1), failing])).toThrow('already exists')
    expect(pragmaNumber(database, 'user_version')).toBe(1)
    expect(database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()).toEqual([{ name: 'a' }])
    expect(database.isTransaction).toBe(false)
  })

  it('a disk error while a file is inspected is what is reported', () => {
    using database = new FailingDatabase(':memory:')
    expect(() => refuseForeignFile(database, 'it', steps)).toThrow('disk I/O error')
  })

  it('of two hosts that start together happen once', async () => {
    await using folder = new StoreFolder()
    const stores = await Promise.all(Array.from({ length: 8 }, () => folder.open()))
    await Promise.all(stores.map((store, n) => store.append(n)))
    expect(await stores[0]?.records()).toHaveLength(8)
  })
})
