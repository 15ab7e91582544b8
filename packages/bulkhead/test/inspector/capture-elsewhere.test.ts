import type { CallDetail, Frame, HealthView } from '@bulkhead/inspector/protocol'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { createHost, openSqliteStore } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { until } from './client.ts'
import { writeServer } from './overboard.ts'
import { openWorld } from './world.ts'

it('captures calls and messages of servers of another process while it is on, and leaves nothing', LONG, async () => {
  await using world = await openWorld({ stored: true, decide: true, host: { trust: 'declined' } })
  writeServer(world.folder)
  const store = await openSqliteStore({ file: join(world.folder, 'host.db') })
  await using stack = new AsyncDisposableStack()
  const other = await createHost({
    workspace: world.folder, home: join(world.folder, 'home'), cache: CACHE, store, trust: 'once',
  })
  stack.defer(async () => void await other.close())
  await other.mcp.connect()
  const session = await other.openSession()
  const client = await world.client()
  const ids: string[] = []
  /** Makes a call, and looks what is captured of it and of those before. */
  const captured = async () => {
    const id = `c${ids.length}`
    ids.push(id)
    await session.call({ id, name: 'read', arguments: { path: 'ghp_abcdefghijklmnop1234' } })
    await other.flush()
    const found = await Promise.all(ids.map((one) => client.get<CallDetail>(`calls/${session.id}/${one}`)))
    return found.find((detail) => detail.captured !== undefined)?.captured
  }
  const left = async () => (await store.list('capture')).map(({ key }) => key)
  expect([await captured(), await left()]).toEqual([undefined, []])

  await client.post('capture', { on: true })
  await expect.poll(captured, { interval: 400 }).toMatchObject({
    arguments: expect.stringContaining('[redacted]'), result: expect.stringContaining('NotFound'),
  })
  const servers = async () => (await client.get<HealthView>('health')).servers.map(({ name, state }) => [name, state])
  expect(await servers()).toEqual([['ship', 'of another process']])
  const events = client.events('frames:ship')
  const found: Frame[] = []
  await until(events, 'frames', ({ frames }) => {
    found.push(...frames)
    return frames.some(({ host }) => host !== undefined)
  })
  expect(found.find(({ host }) => host !== undefined))
    .toMatchObject({ seq: 1, direction: 'out', server: 'ship', text: expect.stringContaining('initialize') })

  await client.post('capture', { on: false })
  expect(await captured()).toBeUndefined()
  await expect.poll(left).toEqual([])
})
