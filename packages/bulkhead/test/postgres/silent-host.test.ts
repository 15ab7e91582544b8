import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openQuestions } from '@bulkhead/host'
import { openPostgresStore } from '@bulkhead/store-postgres'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { PostgresProxy } from '../../../../scripts/postgres/proxy.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { createHost } from '../../src/index.ts'
import { CACHE } from '../cache.ts'

/** A host that is silent for so long is gone. */
const TIMES = { connectMs: 500, statementMs: 500, patienceMs: 500, beatMs: 50, goneMs: 1_500, calmMs: 100 }

let folder: string
let ends: (() => unknown)[]
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-silent-')))
  ends = []
})
afterEach(async () => {
  for (const end of ends.toReversed()) await end()
  rmSync(folder, { recursive: true, force: true })
})

describe('a host that is silent', needs('PostgreSQL'), () => {
  it('leaves one question to answer, also if no other host is there to judge it', async () => {
    const server = await sharedPostgres()
    const url = server.url(newSchema())
    const proxy = await PostgresProxy.start(server.port)
    const store = await openPostgresStore({ url: url.replace(`:${server.port}/`, `:${proxy.port}/`) }, TIMES)
    const host = await createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE, store, env: {} })
    const reader = await openPostgresStore({ url }, TIMES)
    ends.push(() => reader.close(), () => proxy.close(), () => host.close())
    const session = await host.openSession({ headless: 'wait' })
    void session.call({ id: 'w', name: 'write', arguments: { path: 'a.txt', content: 'x' } })
    const book = openQuestions(reader)
    await expect.poll(() => book.list()).toMatchObject([{ state: 'waits' }])
    const [question] = await book.list()
    // Until then the call is stored, too.
    await expect.poll(async () => (await reader.list('paused')).length).toBe(1)
    proxy.hold('requests')
    await expect.poll(async () => (await book.list())[0]?.paused).toBe(true)
    expect(await book.list()).toMatchObject([{ id: question!.id, state: 'waits', paused: true }])
    expect(await book.answer(question!.id, { status: 'accepted', value: 'once' }, { by: 'ada', way: 'test' }))
      .toBe('stored')
    expect(await book.list()).toEqual([])
    proxy.release()
  })
})
