import type { CallDetail, CallExport, CallsView, CaptureState } from '@bulkhead/inspector/protocol'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createHost, openSqliteStore } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { until } from './client.ts'
import { openWorld } from './world.ts'

const greet = { id: 'c1', name: 'greet', arguments: { name: 'Ada' } }

it('sends calls as they happen, and lists them with filters', async () => {
  await using world = await openWorld()
  const client = await world.client()
  const events = client.events('calls')
  await until(events, 'hello')
  const session = await world.host.openSession()
  await session.call(greet)
  await session.call({ id: 'c2', name: 'order', arguments: { what: 'tea' } })
  const states = new Map<string, string>()
  await until(events, 'calls', ({ items }) => {
    for (const { call, state } of items) states.set(call, state)
    return states.get('c1') === 'succeeded' && states.get('c2') === 'denied'
  })
  const names = async (query: string) => (await client.get<CallsView>(`calls${query}`)).items.map(({ call }) => call)
  expect([
    await names(''), await names('?failed=1'), await names('?tool=greet'), await names(`?session=${session.id}`),
    await names('?text=zebra'), await names('?limit=1'),
  ]).toEqual([['c2', 'c1'], ['c2'], ['c1'], ['c2', 'c1'], [], ['c2']])
})

it('shows one call as a flame, with each use of a capability', async () => {
  await using world = await openWorld()
  writeFileSync(join(world.folder, 'a.txt'), 'abc')
  const client = await world.client()
  const session = await world.host.openSession()
  expect(await session.call({ id: 'r', name: 'read', arguments: { path: 'a.txt' } })).toMatchObject({ type: 'output' })
  const { spans, item } = await client.get<CallDetail>(`calls/${session.id}/r`)
  expect(item).toMatchObject({ tool: 'read', state: 'succeeded' })
  expect(spans.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['policy', 'run', 'use']))
  expect(spans.find(({ kind }) => kind === 'use'))
    .toMatchObject({ capability: 'fs.read', subject: expect.stringContaining('a.txt') })
  await expect(client.get(`calls/${session.id}/none`)).rejects.toMatchObject({ code: 'NotFound' })
})

it('captures arguments and results only while it is on, without secrets', async () => {
  await using world = await openWorld({ decide: true })
  const client = await world.client()
  const session = await world.host.openSession()
  const captured = async (id: string) => (await client.get<CallDetail>(`calls/${session.id}/${id}`)).captured
  await session.call(greet)
  expect(await captured('c1')).toBeUndefined()
  await client.post<CaptureState>('capture', { on: true })
  await session.call({ ...greet, id: 'c2', arguments: { name: 'ghp_abcdefghijklmnop1234' } })
  await expect.poll(() => captured('c2')).toMatchObject({ arguments: expect.stringContaining('[redacted]') })
  expect(await client.post('capture', { on: false })).toEqual({ on: false, limit: 50, kept: 0 })
  expect(await captured('c2')).toBeUndefined()
})

it('finds past calls in the audit of the store, each with its link of the chain', async () => {
  await using world = await openWorld({ stored: true })
  const session = await world.host.openSession()
  await session.call(greet)
  await world.host.flush()
  const client = await world.client()
  const found = await client.get<CallExport>(`calls/${session.id}/c1/export`)
  expect(found.format).toBe('bulkhead-call/1')
  expect(found.audit.at(-1))
    .toMatchObject({ link: expect.stringMatching(/^[0-9a-f]{64}$/), record: { type: 'ToolInvocationSucceeded' } })
})

it('shows the phases and uses of a call of another process, from the audit', async () => {
  await using world = await openWorld({ stored: true })
  writeFileSync(join(world.folder, 'a.txt'), 'abc')
  const file = join(world.folder, 'host.db')
  const other = await createHost({
    workspace: world.folder, home: join(world.folder, 'home'), cache: CACHE, store: await openSqliteStore({ file }),
    config: { rules: [{ permission: 'read', pattern: '*', action: 'ask' }] },
  })
  const approver = { approve: () => setTimeout(20, { decision: 'once' as const }) }
  const session = await other.openSession({ approver })
  const call = { id: 'r', name: 'read', arguments: { path: 'a.txt' } }
  expect(await session.call(call)).toMatchObject({ type: 'output' })
  await other.close()
  const client = await world.client()
  const { spans } = await client.get<CallDetail>(`calls/${session.id}/r`)
  expect(spans.filter(({ kind }) => kind === 'person')).toMatchObject([{ depth: 0, ms: expect.any(Number) }])
  expect(spans).toContainEqual(expect.objectContaining({
    kind: 'use', depth: 1, capability: 'fs.read', subject: 'a.txt', bytesRead: 3, ms: expect.any(Number),
  }))
  expect(spans.map(({ fromMs }) => fromMs)).toEqual(spans.map(({ fromMs }) => fromMs).toSorted((a, b) => a - b))
  expect(await client.get<CallExport>(`calls/${session.id}/r/export`)).toMatchObject({ spans })
})

it('shows what a call settles after its tool has ended', async () => {
  await using world = await openWorld()
  const slow = { id: 'slow', post: () => setTimeout(20, { action: 'allow' as const }) }
  const approver = { approve: async () => ({ decision: 'once' as const }) }
  const session = await world.host.openSession({ guards: [slow], approver })
  const call = { id: 'c', name: 'order', arguments: { what: 'tea' } }
  expect(await session.call(call)).toMatchObject({ type: 'output' })
  const { spans } = await (await world.client()).get<CallDetail>(`calls/${session.id}/c`)
  expect(spans.at(-1)).toMatchObject({ kind: 'settle' })
})
