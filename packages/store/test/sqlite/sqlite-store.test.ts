import { readdirSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { StoreFolder } from './store-folder.ts'

describe('the sqlite store', () => {
  let folders = new AsyncDisposableStack()
  const newFolder = () => folders.use(new StoreFolder())
  afterEach(async () => {
    await folders.disposeAsync()
    folders = new AsyncDisposableStack()
  })

  it('leaves one file after the last connection closes', async () => {
    const folder = newFolder()
    const store = await folder.open()
    await store.append('one')
    await store.close()
    expect(readdirSync(folder.path)).toEqual(['host.db'])
  })

  it('names a damaged record and returns the others', async () => {
    const folder = newFolder()
    const store = await folder.open()
    await store.write('state', 'good', 1)
    await store.write('state', 'bad', 1)
    for (const record of ['one', 'two', 'three']) await store.append(record)
    using other = new DatabaseSync(folder.file)
    other.exec(
      `UPDATE entry SET value = '{"cut' WHERE key = 'bad'; UPDATE audit SET record = '[1e999]' WHERE position = 2`,
    )

    const damaged = (record: string, cure = 'Remove it') =>
      ({
        code: 'StoreUnavailable', data: { reason: 'damaged-record', record },
        message: expect.stringMatching(new RegExp(`${record}.*${cure}`)),
      })
    await expect(store.read('state', 'bad')).rejects.toMatchObject(damaged('state "bad"'))
    expect(await store.list('state')).toEqual([
      { key: 'bad', value: null, damage: expect.stringMatching(/^is not JSON/) }, { key: 'good', value: 1 },
    ])
    await expect(store.records()).rejects.toMatchObject(damaged('audit record 2', 'Restore a backup'))
    expect(await store.read('state', 'good')).toBe(1)
    expect(await store.list('state', 'g')).toEqual([{ key: 'good', value: 1 }])
    expect(await store.records(3)).toMatchObject([{ position: 3, record: 'three' }])

    // Operations of the same turn are not affected.
    const together = await Promise.allSettled([store.append('four'), store.read('state', 'bad'), store.append('five')])
    expect(together.map((each) => each.status === 'fulfilled' ? each.value : 'failed')).toEqual([4, 'failed', 5])

    await store.write('state', 'bad', 'mended')
    expect(await store.read('state', 'bad')).toBe('mended')
  })

  it('waits for another writing process without blocking the thread', async () => {
    const folder = newFolder()
    const store = await folder.open()
    using other = new DatabaseSync(folder.file)
    other.exec('BEGIN IMMEDIATE')
    const appended = store.append('patient')
    const read = store.read('state', 'a')
    // If the thread were blocked, these turns would not run before the append times out.
    for (let turn = 0; turn < 10; turn++) await nextTurn()
    other.exec('COMMIT')
    expect(await Promise.all([appended, read])).toEqual([1, undefined])
  })
})
