import type { Json } from '@bulkhead/kit/json'
import { expect, test } from 'vitest'
import { ManualClock } from '../../twin/clock.ts'
import { MemoryStore } from '../../twin/store.ts'
import { verdictOf, type ExtensionSketch } from '../../twin/world.ts'
import { ask, asking, CALL, opened, pausedIn } from './asking.ts'

test('the outcome is reported also if the store fails to delete the record', async () => {
  const store = new MemoryStore()
  const quiz = asking([ask('Ship?')])
  const { execute, ...tool } = quiz.tools!['quiz']!
  const breaking: ExtensionSketch = {
    tools: {
      quiz: {
        ...tool,
        execute: async (args, runtime) => {
          const answers = await execute!(args, runtime)
          store.failing = true
          return answers
        },
      },
    },
  }
  const { world, session } = await opened(store, breaking)
  const id = pausedIn(await session.call(CALL))
  expect(await session.resume(id, 'Fram')).toMatchObject({ data: ['Fram'] })
  expect(world.eventsOf('SuppressedError').map(({ source }) => source)).toContain('paused calls')
})

test('of two hosts that resume one call one gets it, and a failed deletion never runs it twice', async () => {
  const store = new MemoryStore()
  const alive = (id: string) => ({ owner: { id, isGone: () => false } })
  const quiz = asking([ask('Ship?')])
  const id = pausedIn(await (await opened(store, quiz)).session.call(CALL))
  const hosts = await Promise.all(
    ['one', 'two', 'three'].map((name) => opened(store, quiz, { pause: true }, alive(name))),
  )
  const remove = store.remove.bind(store)
  store.remove = () => Promise.reject(new Error('the disk is full'))
  const results = await Promise.allSettled(hosts.map(({ session }, index) => session.resume(id, `Fram ${index}`)))
  const [won, ...others] = results.toSorted((a, b) => a.status < b.status ? -1 : 1)
  expect(won).toMatchObject({ value: { type: 'output' } })
  for (const other of others) expect(other).toMatchObject({ reason: { code: 'InteractionAlreadyAnswered' } })
  for (const { session } of hosts)
    await expect(session.resume(id)).rejects.toMatchObject({ code: 'InteractionAlreadyAnswered' })
  store.remove = remove
  await hosts[0]!.world.host.forgetPaused(id)
  await expect(hosts[0]!.session.resume(id)).rejects.toMatchObject({ code: 'NotFound' })
})

test('a call that could not continue can be resumed by any host', async () => {
  const store = new MemoryStore()
  const alive = (id: string) => ({ owner: { id, isGone: () => false } })
  const id = pausedIn(await (await opened(store, asking([ask('Ship?')]))).session.call(CALL))
  const denying = await opened(
    store, asking([ask('Ship?')]), { rules: [{ permission: 'quiz', pattern: '*', action: 'deny' }] }, alive('one'),
  )
  expect(verdictOf(await denying.session.resume(id, 'Fram'))).toBe('RuleDenied')
  expect((await store.list('paused'))[0]!.value).not.toHaveProperty('claimedBy')
  const other = await opened(store, asking([ask('Ship?')]), { pause: true }, alive('two'))
  expect(await other.session.resume(id)).toMatchObject({ data: ['Fram'] })
})

test('records of an unknown form are ignored', async () => {
  const store = new MemoryStore()
  const { world, session } = await opened(store, asking([ask('Ship?')]))
  const id = pausedIn(await session.call(CALL))
  const [{ key, value }] = await store.list('paused') as unknown as [{ key: string; value: Record<string, Json> }]
  for (const member of ['call', 'question', 'asked'])
    await store.write('paused', key.replace(id, member), { ...value, id: member, [member]: 'x' })
  await store.write('paused', key.replace(id, 'none'), null)
  expect((await world.host.pausedCalls()).map((paused) => paused.id)).toEqual([id])
  for (const other of ['call', 'question', 'asked', 'none'])
    await expect(session.resume(other, 'Fram')).rejects.toMatchObject({ code: 'NotFound' })
})

test('that a question was answered is known for a day', async () => {
  const [store, clock] = [new MemoryStore(), new ManualClock()]
  const { world, session } = await opened(store, asking([ask('Ship?')]), { pause: true }, { clock })
  const id = pausedIn(await session.call(CALL))
  expect(await session.resume(id, 'Fram')).toMatchObject({ data: ['Fram'] })
  await clock.advance(24 * 60 * 60 * 1000)
  expect(await world.host.pausedCalls()).toEqual([])
  await expect(session.resume(id, 'Maud')).rejects.toMatchObject({ code: 'InteractionAlreadyAnswered' })
  await clock.advance(1)
  expect(await world.host.pausedCalls()).toEqual([])
  await expect.poll(() => store.list('paused')).toEqual([])
  await expect(session.resume(id, 'Maud')).rejects.toMatchObject({ code: 'NotFound' })
})
