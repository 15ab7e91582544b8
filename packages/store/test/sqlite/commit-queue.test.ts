import { DatabaseSync } from 'node:sqlite'
import { BulkheadError } from '@bulkhead/contract'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { CommitQueue } from '../../src/sqlite/commit-queue.ts'
import { LockWait } from '../../src/sqlite/database-file.ts'
import { StoreFolder } from './store-folder.ts'

describe('the commit queue', () => {
  let folder: StoreFolder
  let database: DatabaseSync
  let onlooker: DatabaseSync
  let queue: CommitQueue
  const insert = (n: number | null) => Number(database.prepare('INSERT INTO t (n) VALUES (?)').run(n).lastInsertRowid)
  const committed = () => onlooker.prepare('SELECT n FROM t ORDER BY position').all().map((row) => row['n'])

  beforeEach(() => {
    folder = new StoreFolder()
    database = new DatabaseSync(folder.file)
    database.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (position INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT')
    onlooker = new DatabaseSync(folder.file)
    queue = new CommitQueue(database, folder.file)
  })

  afterEach(async () => {
    await queue.close()
    onlooker.close()
    database.close()
    await folder[Symbol.asyncDispose]()
  })

  it('commits the operations of one turn together, and resolves after that', async () => {
    const seenWhileRunning: unknown[] = []
    const seenWhenResolved: unknown[] = []
    const one = (n: number) => queue.enqueue(() => {
      seenWhileRunning.push(committed())
      return insert(n)
    })
    // The third is added after a few microtasks, in the same turn.
    const later = Promise.resolve().then(() => Promise.resolve()).then(() => one(3))
    const watched = one(1).then(() => seenWhenResolved.push(committed()))
    await Promise.all([watched, one(2), later])
    expect(seenWhileRunning).toEqual([[], [], []])
    expect(seenWhenResolved).toEqual([[1, 2, 3]])
    expect(queue.idle).toBe(true)
  })

  it('commits at most 512 operations at once, so that others get their turn', LONG, async () => {
    const seen = Array.from({ length: 600 }, (_, n) => queue.enqueue(() => insert(n)).then(() => committed().length))
    expect([await seen[0], await seen[599]]).toEqual([512, 600])
  })

  it('rejects only the faulty operation, and runs the others exactly once and in order', async () => {
    const asked = Array.from({ length: 2_000 }, (_, n) => queue.enqueue(() => insert(n % 500 === 250 ? null : n)))
    const settled = await Promise.allSettled(asked)
    const expected = Array.from({ length: 2_000 }, (_, n) => n).filter((n) => n % 500 !== 250)
    expect(committed()).toEqual(expected)
    const positions = settled.filter((each) => each.status === 'fulfilled').map((each) => each.value)
    expect(positions).toEqual(expected.map((_, index) => index + 1))
    for (const n of [250, 750, 1250, 1750]) {
      expect(settled[n]).toMatchObject({ status: 'rejected', reason: { code: 'StoreUnavailable' } })
    }
  })

  it('does not roll back for a BulkheadError', async () => {
    let runs = 0
    const own = new BulkheadError('StoreUnavailable', 'mine')
    const [first, second] = await Promise.allSettled([
      queue.enqueue(() => { runs++; return insert(1) }),
      queue.enqueue(() => { throw own }),
    ])
    expect([first, second]).toEqual([{ status: 'fulfilled', value: 1 }, { status: 'rejected', reason: own }])
    expect(runs).toBe(1)
  })

  it('rejects the whole batch when another process locks the file', async () => {
    const hasty = new CommitQueue(database, folder.file, new LockWait(30))
    onlooker.exec('BEGIN IMMEDIATE')
    const settled = await Promise.allSettled([1, 2, 3].map((n) => hasty.enqueue(() => insert(n))))
    onlooker.exec('COMMIT')
    const busy = { code: 'StoreUnavailable', data: { reason: 'busy', file: folder.file } }
    for (const each of settled) expect(each).toMatchObject({ status: 'rejected', reason: busy })
    expect(committed()).toEqual([])
    expect(await hasty.enqueue(() => insert(4))).toBe(1)
    await hasty.close()
  })

  it('waits once for a locked file, and again after it was free', async () => {
    const waits: number[] = []
    class Watched extends LockWait {
      override get waitMs(): number {
        waits.push(super.waitMs)
        return super.waitMs
      }
    }
    const hasty = new CommitQueue(database, folder.file, new Watched(200, () => 0))
    onlooker.exec('BEGIN IMMEDIATE')
    for (const n of [1, 2]) {
      await expect(hasty.enqueue(() => insert(n))).rejects.toMatchObject({
        message: expect.stringContaining('for more than 5 s'),
      })
    }
    onlooker.exec('COMMIT')
    for (const n of [3, 4]) await hasty.enqueue(() => insert(n))
    expect([waits, committed()]).toEqual([[200, 100, 100, 200], [3, 4]])
    await hasty.close()
  })

  it('settles after all operations, including those added meanwhile', async () => {
    const order: string[] = []
    const first = queue.enqueue(() => insert(1)).then(() => {
      order.push('first')
      return queue.enqueue(() => insert(2)).then(() => order.push('second'))
    })
    await first
    await queue.settled()
    expect(order).toEqual(['first', 'second'])
    expect(queue.idle).toBe(true)
    await queue.settled()
  })
})
