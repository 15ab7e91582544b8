import { hash } from 'node:crypto'
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { NewChange } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { SqliteChanges } from '../../src/sqlite/sqlite-changes.ts'
import { StoreFolder } from './store-folder.ts'

const SOURCE = { workspace: '/ws', sessionId: 's', turn: 1, callId: 'c', rootCallId: 'c', tool: 'write' }

const replacing = (content: Uint8Array, more: object = {}): NewChange => ({
  ...SOURCE, kind: 'file', path: '/ws/a', after: { kind: 'absent' },
  before: { kind: 'file', digest: hash('sha256', content), size: content.length, mode: 0o644 }, ...more,
})

describe('recorded changes', () => {
  it('survive the process, next to the store, readable only by the owner', async () => {
    await using folder = new StoreFolder()
    const content = Buffer.from('before')
    const change = replacing(content)
    const store = await folder.open()
    expect(existsSync(`${folder.file}-undo`)).toBe(false)
    expect(await store.changes!.add(change, content)).toBe(1)
    await store.close()
    expect(statSync(`${folder.file}-undo`).mode & 0o777).toBe(0o600)
    const again = await folder.open()
    expect(await again.changes!.list({})).toEqual([{ ...change, id: 1, at: expect.any(Number) }])
    expect(Buffer.from(await again.changes!.content(hash('sha256', content)) ?? [])).toEqual(content)
    expect(await again.changes!.content(hash('sha256', 'other'))).toBeUndefined()
  })

  it('lose the content that was needed longest ago when there is too much, and stay listed', async () => {
    const changes = new SqliteChanges(undefined, { totalBytes: 1_000 })
    const pieces = Array.from({ length: 20 }, (_, index) => Buffer.alloc(100, index))
    // The first content is needed again by the last change.
    for (const piece of [...pieces, pieces[0]!]) await changes.add(replacing(piece), piece)
    const kept = await Promise.all(pieces.map(async (piece) =>
      await changes.content(hash('sha256', piece)) !== undefined))
    expect(kept.indexOf(true)).toBe(0)
    expect(kept.filter(Boolean).length).toBeLessThanOrEqual(10)
    expect(kept.at(-1)).toBe(true)
    expect(await changes.list({})).toHaveLength(21)
  })

  it('lose content that is too old, and the oldest of too many changes', async () => {
    let now = 0
    const changes = new SqliteChanges(undefined, { totalBytes: 1_600, ageMs: 1_000, changes: 3 }, () => now)
    const [old, fresh] = [Buffer.alloc(101, 1), Buffer.alloc(101, 2)]
    await changes.add(replacing(old), old)
    now = 5_000
    for (let count = 0; count < 4; count++) await changes.add(replacing(fresh), fresh)
    expect(await changes.content(hash('sha256', old))).toBeUndefined()
    expect(await changes.content(hash('sha256', fresh))).toBeDefined()
    expect((await changes.list({})).map(({ id }) => id)).toEqual([3, 4, 5])
  })

  it('begin anew if their file is removed', async () => {
    await using folder = new StoreFolder()
    const store = await folder.open()
    await store.changes!.add(replacing(Buffer.from('x')), Buffer.from('x'))
    for (const end of ['', '-wal', '-shm']) rmSync(`${folder.file}-undo${end}`, { force: true })
    expect(await store.changes!.list({})).toEqual([])
    await store.changes!.add(replacing(Buffer.from('y')), Buffer.from('y'))
    expect(await store.changes!.list({})).toHaveLength(1)
  })

  it('are not recorded in a file of another program, which stays as it is', async () => {
    await using folder = new StoreFolder()
    const store = await folder.open()
    writeFileSync(`${folder.file}-undo`, 'not a database, but long enough to be taken for one'.repeat(20))
    await expect(store.changes!.add(replacing(Buffer.from('x')), Buffer.from('x')))
      .rejects.toMatchObject({ code: 'StoreUnavailable' })
    expect(statSync(`${folder.file}-undo`).size).toBe(1_020)
  })
})
