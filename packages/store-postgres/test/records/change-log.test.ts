import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { openPostgresStore } from '../../src/index.ts'
import { newUrl } from '../postgres-folder.ts'

const replaced = (content: Buffer) => ({
  workspace: '/a', sessionId: 's', turn: 1, callId: 'c', rootCallId: 'c', tool: 'write', kind: 'file' as const,
  path: '/a/file', after: { kind: 'absent' as const },
  before: { kind: 'file' as const, digest: hash('sha256', content), size: content.length, mode: 0o644 },
})

describe('what is kept for undo', needs('PostgreSQL'), () => {
  it('stays below its limit: what was needed longest ago goes first', async () => {
    const store = await openPostgresStore({ url: await newUrl(), retention: { changesMiB: 1, changes: 12 } })
    const contents = Array.from({ length: 16 }, (_, index) => Buffer.alloc(100_000, index))
    for (const content of contents) await store.changes!.add(replaced(content), content)
    const kept = await Promise.all(contents.map((content) => store.changes!.content(hash('sha256', content))))
    const first = kept.findIndex((one) => one !== undefined)
    expect(kept.slice(first).every((one) => one !== undefined)).toBe(true)
    expect(kept.length - first).toBeGreaterThan(8)
    expect((kept.length - first) * 100_000).toBeLessThan(1024 ** 2)
    expect(await store.changes!.list({})).toHaveLength(12)
    await store.close()
  })

  it('goes after its time', async () => {
    const url = await newUrl()
    const store = await openPostgresStore({ url, retention: { changesDays: 7 } })
    const [old, young] = [Buffer.from('old'), Buffer.from('young')]
    await store.changes!.add(replaced(old), old, Date.now() - 8 * 86_400_000)
    await store.close()
    const next = await openPostgresStore({ url, retention: { changesDays: 7 } })
    await next.changes!.add(replaced(young), young)
    const kept = await Promise.all([old, young].map((content) => next.changes!.content(hash('sha256', content))))
    expect(kept.map((one) => one && `${Buffer.from(one)}`)).toEqual([undefined, 'young'])
    await next.close()
  })
})
