import { join } from 'node:path'
import { serveToolsOverHttp } from '@bulkhead/bridges/mcp'
import { openSqliteStore } from '@bulkhead/store'
import { expect, it } from 'vitest'
import { createHost, type Host } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { HttpWorld, inSession, sessionOf, TOKENS } from './http-world.ts'

it('requests that reach another replica at the same time continue the session once', async () => {
  const world = new HttpWorld()
  const store = () => openSqliteStore({ file: join(world.folder, 'host.db') })
  await world.open({ store: await store() })
  await using closing = new AsyncDisposableStack()
  closing.defer(() => world.close())
  const next = await createHost({
    workspace: join(world.folder, 'work'), home: join(world.folder, 'home'), cache: CACHE, trust: 'declined',
    store: await store(),
  })
  closing.defer(async () => void await next.close())
  const faults: string[] = []
  const serve = (host: Host, replicas = host.replicas!) => serveToolsOverHttp(
    { on: (listener, types) => host.on(listener, types), replicas },
    {
      info: { name: 'bulkhead', version: '1.0.0' }, tokens: TOKENS, onFault: ({ message }) => void faults.push(message),
      openSession: (interactor) => host.openSession({ interactor, mode: 'yolo' }),
      resumeSession: (id, interactor) => host.resumeSession(id, { interactor }),
    })
  const before = await serve(world.host)
  const { id } = await sessionOf(before)
  const call = { method: 'tools/call', params: { name: 'count', arguments: {} } }
  expect((await inSession(before, id, call)).text).toContain('counted')
  await before.close()

  const replicas = next.replicas!
  const continued = Promise.withResolvers<void>()
  let reads = 0
  const after = await serve(next, {
    owner: replicas.owner, update: (key, change) => replicas.update(key, change),
    async read(key) {
      const value = await replicas.read(key)
      if (++reads === 1) await continued.promise
      return value
    },
  })
  closing.defer(() => after.close())
  // It has read the store before the other request continues the session, and acts after that.
  const slow = inSession(after, id, call)
  await expect.poll(() => reads).toBe(1)
  expect((await inSession(after, id, call)).text).toContain('counted')
  continued.resolve()
  expect((await slow).text).toContain('counted')
  expect(faults).toEqual([])
})
