import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { expect, it } from 'vitest'
import { ClientEvents, type EventBounds, type SessionEvents } from '../../../src/mcp/serving/kept-events.ts'

const message = (text: string): JSONRPCMessage => ({
  jsonrpc: '2.0', method: 'notifications/message', params: { text },
})
const ROOM: EventBounds = { events: 100, bytes: 10_000 }

async function add(session: SessionEvents, stream: string, ...texts: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = []
  for (const text of texts) ids.push(await session.storeEvent(stream, message(text)))
  return ids
}

async function missed(session: SessionEvents, id: string): Promise<readonly unknown[]> {
  session.check(id)
  const texts: unknown[] = []
  await session.replayEventsAfter(id, {
    send: async (_, event) =>
      void texts.push((event as { readonly params?: { readonly text?: unknown } }).params?.text),
  })
  return texts
}

it('replays the later events of the same stream, in order', async () => {
  const session = new ClientEvents(ROOM).open(ROOM)
  const [first, second] = await add(session, 'a', '1', '2')
  await add(session, 'b', 'other')
  await add(session, 'a', '3')
  expect(await missed(session, first!)).toEqual(['2', '3'])
  expect(await missed(session, second!)).toEqual(['3'])
})

it('knows no id of another session, and none that was made up', async () => {
  const client = new ClientEvents(ROOM)
  const [session, other] = [client.open(ROOM), client.open(ROOM)]
  const [id] = await add(session, 'a', '1', '2')
  for (const one of [id!, '', 'x', 'a.1', id!.replace(/[^.]+/, 'x')]) {
    expect(() => other.check(one)).toThrow(expect.objectContaining({ status: 400 }))
  }
})

it.each<[what: string, bounds: EventBounds]>([
  ['number', { events: 3, bytes: 10_000 }], ['size', { events: 100, bytes: 250 }],
])('keeps events up to a %s, and says so when events were missed', async (_, bounds) => {
  const session = new ClientEvents(ROOM).open(bounds)
  const quiet = await add(session, 'quiet', 'start')
  const ids = await add(session, 'a', ...Array.from({ length: 9 }, (_value, index) => `${index}`))
  expect(session.count).toBe(3)
  expect(session.bytes).toBeLessThanOrEqual(250)
  expect(await missed(session, ids[5]!)).toEqual(['6', '7', '8'])
  expect(() => session.check(ids[4]!)).toThrow(expect.objectContaining({ status: 410 }))
  // Its event has left too, and none came after it.
  expect(await missed(session, quiet[0]!)).toEqual([])
  await add(session, 'a', 'x'.repeat(bounds.bytes))
  expect(session.bytes).toBeLessThanOrEqual(bounds.bytes)
  expect(session.count).toBeLessThanOrEqual(bounds.events)
})

it('keeps no more of all sessions of a client than of one', async () => {
  const client = new ClientEvents({ events: 4, bytes: 10_000 })
  const [one, other] = [client.open(ROOM), client.open(ROOM)]
  const [first] = await add(one, 'a', '1', '2')
  await add(other, 'b', '3', '4')
  expect(await missed(one, first!)).toEqual(['2'])
  await add(other, 'b', '5', '6')
  expect([one.count, other.count]).toEqual([0, 4])
  expect(() => one.check(first!)).toThrow('no longer kept')
  client.end(other)
  await add(one, 'a', '7', '8', '9', '10')
  expect(one.count).toBe(4)
})

it('forgets streams that ended long ago', async () => {
  const session = new ClientEvents(ROOM).open({ events: 2, bytes: 10_000 })
  const [first] = await add(session, 'first', '1', '2')
  const [quiet] = await add(session, 'quiet', '1')
  for (const stream of ['b', 'c', 'd', 'e', 'f', 'g']) await add(session, stream, '1')
  for (const id of [first!, quiet!]) expect(() => session.check(id)).toThrow(expect.objectContaining({ status: 410 }))
})

it('an event that comes during a replay is not part of it, and is not lost', async () => {
  const session = new ClientEvents(ROOM).open(ROOM)
  const [first] = await add(session, 'a', '1', '2')
  let late: Promise<readonly string[]> | undefined
  const replayed: string[] = []
  await session.replayEventsAfter(first!, {
    send: async (id) => {
      replayed.push(id)
      late ??= add(session, 'a', '3')
    },
  })
  expect(replayed).toHaveLength(1)
  expect(session.count).toBe(2)
  await late
  expect(await missed(session, replayed[0]!)).toEqual(['3'])
})
