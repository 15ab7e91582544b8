import type { WaitingApproval, WaitingItem, WaitingView } from '@bulkhead/inspector/protocol'
import { expect, it } from 'vitest'
import { join } from 'node:path'
import { createHost, createProgrammaticInteractor, openSqliteStore } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { until } from './client.ts'
import { openWorld } from './world.ts'

const pathOf = ({ id }: Pick<WaitingItem, 'id'>): string => `waiting/${encodeURIComponent(id)}`
const order = { id: 'c1', name: 'order', arguments: { what: 'tea' } }

/** A call that waits, a client, and what it sees. */
async function waiting(world: Awaited<ReturnType<typeof openWorld>>, options = {}) {
  const session = await world.host.openSession({ interactor: world.inspector.interactor, ...options })
  const outcome = session.call(order)
  const client = await world.client()
  const events = client.events('waiting')
  const { view } = await until(events, 'waiting', ({ view: { items } }) => items.length === 1)
  return { session, outcome, client, events, item: view.items[0] as WaitingApproval }
}

it('shows a call that waits, with everything that a person decides on', async () => {
  await using world = await openWorld({ decide: true })
  const { outcome, item, client } = await waiting(world)
  expect(item).toMatchObject({
    kind: 'approval', tool: 'order', chain: ['order'], paused: false, call: 'c1',
    argumentsText: expect.stringContaining('tea'),
  })
  expect(item.answers[0]).toMatchObject({ words: 'this call', lasts: 'call', limits: [] })
  const { words } = await client.post<{ words: string }>(pathOf(item), {
    do: 'allow', digest: item.digest, answer: item.answers[0]!.id,
  })
  expect(words).toBe('The host goes on with the answer.')
  expect(await outcome).toMatchObject({ data: { ordered: 'tea' } })
})

it('takes a limit, and counts the calls that it allows', async () => {
  await using world = await openWorld({ decide: true })
  const { outcome, item, client, session } = await waiting(world)
  const answer = item.answers.find(({ lasts }) => lasts === 'session')!
  expect(answer).toMatchObject({ limits: ['until', 'times'], rule: { permission: 'order', action: 'allow' } })
  await client.post(pathOf(item), { do: 'allow', digest: item.digest, answer: answer.id, times: 2 })
  expect(await outcome).toMatchObject({ type: 'output' })
  expect(await session.call({ ...order, id: 'c2' })).toMatchObject({ type: 'output' })
  const third = session.call({ ...order, id: 'c3' })
  const waits = async () => (await client.get<WaitingView>('waiting')).items.map(({ call }) => call)
  await expect.poll(waits).toEqual(['c3'])
  session.cancel()
  await third
})

it('edited arguments are judged again, and are those that run', async () => {
  await using world = await openWorld({ decide: true })
  const { outcome, item, client } = await waiting(world)
  expect(item.arguments).toEqual({ what: 'tea' })
  const decide = ({ id, digest }: WaitingItem, args: object) => client.post(pathOf({ id }), {
    do: 'allow', digest, answer: 'once-call', arguments: args,
  })
  await decide(item, { what: 7 })
  const again = async () => (await client.get<WaitingView>('waiting')).items[0] as WaitingApproval | undefined
  await expect.poll(again)
    .toMatchObject({ call: 'c1', reasons: expect.arrayContaining([expect.stringMatching('cannot run')]) })
  await decide((await again())!, { what: 'milk' })
  expect(await outcome).toMatchObject({ data: { ordered: 'milk' } })
})

it('the first answer counts', async () => {
  await using world = await openWorld({ decide: true })
  const { outcome, item, client, events } = await waiting(world)
  const path = pathOf(item)
  await client.post(path, { do: 'reject', digest: item.digest, reason: 'no tea' })
  expect(await outcome)
    .toMatchObject({ error: { code: 'ApprovalDenied' }, error_text: expect.stringContaining('no tea') })
  await until(events, 'waiting', ({ view }) => view.items.length === 0)
  await expect(client.post(path, { do: 'allow', digest: item.digest, answer: item.answers[0]!.id }))
    .rejects.toMatchObject({ code: 'AlreadyAnswered' })
})

it('"not now" is no answer', async () => {
  await using world = await openWorld({ decide: true })
  const { outcome, item, client, session } = await waiting(world)
  await client.post(pathOf(item), { do: 'later', digest: item.digest, minutes: 5 })
  const { items: [still] } = await client.get<WaitingView>('waiting')
  expect(still).toMatchObject({ id: item.id, laterUntil: expect.any(Number) })
  session.cancel()
  expect(await outcome).toMatchObject({ error: { class: 'Cancellation' } })
})

it.each([
  ['another digest', { digest: 'x' }, 'Changed'],
  ['no digest', { digest: undefined }, 'InputInvalid'],
  ['an answer that was not offered', { answer: 'all' }, 'InputInvalid'],
  ['a limit for one call', { times: 2 }, 'InputInvalid'],
  ['another rule', { answer: 'session-key', rule: { permission: 'order', pattern: '**' } }, 'InputInvalid'],
])('refuses %s, and the call still waits', async (_, wrong, code) => {
  await using world = await openWorld({ decide: true })
  const { outcome, item, client, session } = await waiting(world)
  const body = { do: 'allow', digest: item.digest, answer: 'once-call', ...wrong }
  await expect(client.post(pathOf(item), body)).rejects.toMatchObject({ code })
  expect((await client.get<WaitingView>('waiting')).items).toHaveLength(1)
  session.cancel()
  await outcome
})

it('an inspector that only reads answers nothing', async () => {
  await using world = await openWorld()
  const client = await world.client()
  const person = Promise.withResolvers<never>()
  const session = await world.host.openSession({ interactor: { interact: () => person.promise } })
  const outcome = session.call(order)
  await expect.poll(async () => (await client.get<WaitingView>('waiting')).items).toHaveLength(1)
  const { items: [item] } = await client.get<WaitingView>('waiting')
  expect(item!.unanswerable).toMatch('--decide')
  await expect(client.post(pathOf(item!), { do: 'reject', digest: item!.digest }))
    .rejects.toMatchObject({ code: 'ReadOnly' })
  session.cancel()
  await outcome
})

it('a paused call is answered in the store, and goes on when its session resumes it', async () => {
  await using world = await openWorld({ decide: true, stored: true })
  const session = await world.host.openSession({ pause: true })
  expect(await session.call(order)).toMatchObject({ error: { code: 'ClarificationNeeded' } })
  const client = await world.client()
  const { items: [item] } = await client.get<WaitingView>('waiting')
  expect(item).toMatchObject({ paused: true, kind: 'approval' })
  const { words } = await client.post<{ words: string }>(pathOf(item!), {
    do: 'allow', digest: item!.digest, answer: 'once-call',
  })
  expect(words).toMatch('stored')
  expect((await client.get<WaitingView>('waiting')).items).toEqual([])
  const [paused] = await world.host.pausedCalls()
  expect(await session.resume(paused!.id)).toMatchObject({ data: { ordered: 'tea' } })
})

it('a question of another host on the store is shown whole, and answered', async () => {
  await using world = await openWorld({ decide: true, stored: true })
  const store = await openSqliteStore({ file: join(world.folder, 'host.db') })
  const other = await createHost({ workspace: world.folder, home: join(world.folder, 'home'), cache: CACHE, store })
  try {
    const session = await other.openSession({ interactor: createProgrammaticInteractor() })
    const outcome = session.call({ id: 'w', name: 'write', arguments: { path: 'a.txt', content: 'a' } })
    const client = await world.client()
    const waits = async () => (await client.get<WaitingView>('waiting')).items[0] as WaitingApproval | undefined
    await expect.poll(waits).toMatchObject({ tool: 'write', paused: false, session: session.id, call: 'w' })
    const item = (await waits())!
    expect(item.unanswerable).toBeUndefined()
    await client.post(pathOf(item), { do: 'allow', digest: item.digest, answer: 'once-call' })
    expect(await outcome).toMatchObject({ type: 'output' })
  } finally {
    await other.close()
  }
})
