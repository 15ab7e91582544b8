import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { applySettings, pragmaNumber } from '../../src/sqlite/schema.ts'
import { StoreFolder } from './store-folder.ts'

describe('the settings of a connection', () => {
  it('make commits durable and protect the schema', async () => {
    await using folder = new StoreFolder()
    using database = new DatabaseSync(folder.file)
    applySettings(database, folder.file, 1_000_000)
    expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
    const normal = 1
    expect(pragmaNumber(database, 'synchronous')).toBe(normal)
    expect(pragmaNumber(database, 'max_page_count') * pragmaNumber(database, 'page_size')).toBe(999_424)
    expect(pragmaNumber(database, 'trusted_schema')).toBe(0)
    expect(pragmaNumber(database, 'cell_size_check')).toBe(1)
    expect(pragmaNumber(database, 'journal_size_limit')).toBe(4_194_304)
  })

  it('are rejected on a disk without write-ahead log support', () => {
    using database = new DatabaseSync(':memory:')
    expect(() => applySettings(database, 'it', 1_000_000)).toThrow(expect.objectContaining({
      code: 'StoreUnavailable', data: { reason: 'location', file: 'it' },
      message: expect.stringContaining('local disk'),
    }))
  })
})
