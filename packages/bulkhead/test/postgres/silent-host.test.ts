import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openQuestions } from '@bulkhead/host'
import { openPostgresStore } from '@bulkhead/store-postgres'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { PostgresProxy } from '../../../../scripts/postgres/proxy.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { createHost, type Host } from '../../src/index.ts'
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

/** A host behind a proxy that can silence it, and the same store for others. */
async function silentHost() {
  const server = await sharedPostgres()
  const url = server.url(newSchema())
  const proxy = await PostgresProxy.start(server.port)
  ends.push(() => proxy.close())
  const host = await hostOn(url.replace(`:${server.port}/`, `:${proxy.port}/`))
  const reader = await openPostgresStore({ url }, TIMES)
  ends.push(() => reader.close())
  return { url, proxy, host, reader }
}

async function hostOn(url: string, times = TIMES): Promise<Host> {
  const store = await openPostgresStore({ url }, times)
  const host = await createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE, store, env: {} })
  ends.push(() => host.close())
  return host
}

describe('a host that is silent', needs('PostgreSQL'), () => {
  it('is gone for a host that has just started, and its session can be resumed there', async () => {
    const { url, proxy, host, reader } = await silentHost()
    const session = await host.openSession({ headless: 'wait' })
    await session.call({ id: 'l', name: 'list', arguments: {} })
    const isStored = async () => (await reader.list('session')).some(({ key }) => key.includes(session.id))
    await expect.poll(isStored).toBe(true)
    proxy.hold('requests')
    await expect.poll(async () => (await reader.work!.hosts()).map(({ state }) => state)).toEqual(['gone'])
    const next = await hostOn(url, { ...TIMES, calmMs: 1_000 })
    expect((await next.resumeSession(session.id)).id).toBe(session.id)
    proxy.release()
  })

  it('leaves one question to answer, also if no other host is there to judge it', async () => {
    const { proxy, host, reader } = await silentHost()
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
