import type { Interactor } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { flush, ManualClock } from '../../twin/clock.ts'
import { ScriptedApprover, ScriptedInteractor } from '../../twin/people.ts'
import { createWorld, verdictOf, type TwinRuntime, type WorldSketch } from '../../twin/world.ts'

const KEYED: WorldSketch = { extensions: [{ tools: { echo: { approvalKey: '{key}' } } }] }
const ASKING: WorldSketch = {
  extensions: [{
    tools: {
      echo: {
        requires: { capabilities: ['interact'] }, mode: 'safe_write', gated: false, timeoutMs: 100,
        execute: (args, { services, callId, signal }: TwinRuntime) => services.interact!(
          callId, { kind: (args['kind'] ?? 'Ask') as 'Ask', prompt: 'Which one?' }, signal,
        ),
      },
    },
  }],
}

test('a session asks one question at a time, in the order of the calls', async () => {
  const approver = new ScriptedApprover()
  const session = await createWorld(KEYED).host.openSession({ approver })
  const outcomes = ['a', 'b', 'c', 'd'].map((key) => session.call({ id: key, name: 'echo', arguments: { key } }))
  for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 'c', 'd']]) {
    await flush()
    expect(approver.asked.map(({ callId }) => callId)).toEqual(expected)
    approver.answer(expected.length === 2 ? 'reject' : 'once')
  }
  expect((await Promise.all(outcomes)).map(verdictOf)).toEqual(['output', 'ApprovalDenied', 'output', 'output'])
})

test('an approval callback has the same timeout as a person, and is cancelled after it', async () => {
  const clock = new ManualClock()
  const world = createWorld({ ...KEYED, clock })
  let abortReason: unknown
  const approve = (_: unknown, signal: AbortSignal) =>
    new Promise<never>(() => {
      signal.addEventListener('abort', () => {
        abortReason = signal.reason
      })
    })
  const session = await world.host.openSession({ approver: { approve }, interactionTimeoutMs: 5_000 })
  const outcome = session.call({ id: 'c', name: 'echo', arguments: { key: 'x' } })
  await clock.advance(5_000)
  expect(await outcome).toMatchObject({
    error: { code: 'ApprovalDenied' }, error_text: expect.stringContaining('no one answered in time'),
  })
  expect(abortReason).toMatchObject({ code: 'InteractionTimeout' })
  expect(world.eventsOf('InteractionAnswered')).toMatchObject([{ status: 'timeout' }])
  const cancel = new AbortController()
  const cancelled = session.call({ id: 'd', name: 'echo', arguments: { key: 'x' } }, { signal: cancel.signal })
  await flush()
  cancel.abort()
  expect([verdictOf(await cancelled), clock.pending]).toEqual(['ToolCancelled', 0])
})

test('an answer for the session settles the same question of waiting calls', async () => {
  const approver = new ScriptedApprover()
  const session = await createWorld(KEYED).host.openSession({ approver })
  const outcomes = ['x', 'x', 'x'].map((key, index) =>
    session.call({ id: `c${index}`, name: 'echo', arguments: { key } }),
  )
  await flush()
  approver.answer('session')
  expect((await Promise.all(outcomes)).map(verdictOf)).toEqual(['output', 'output', 'output'])
  expect(approver.asked).toHaveLength(1)
})

test('an interactor that accepts many questions answers in any order; others get one at a time', async () => {
  const open: { readonly callId: string | undefined; readonly answer: () => void }[] = []
  const many: Interactor = {
    takesMany: true,
    interact: ({ callId }) =>
      new Promise((resolve) =>
        open.push({ callId, answer: () => resolve({ status: 'accepted', value: { decision: 'once' } }) }),
      ),
  }
  const { host } = createWorld(KEYED)
  const session = await host.openSession({ interactor: many })
  const cancel = new AbortController()
  const call = (id: string, signal?: AbortSignal) =>
    session.call({ id, name: 'echo', arguments: { key: id } }, signal ? { signal } : {})
  const [first, second, third] = [call('a', cancel.signal), call('b'), call('c')]
  await flush()
  expect(open.map(({ callId }) => callId)).toEqual(['a', 'b', 'c'])
  open[2]!.answer()
  expect(verdictOf(await third)).toBe('output')
  cancel.abort()
  expect(verdictOf(await first)).toBe('ToolCancelled')
  open[1]!.answer()
  expect(verdictOf(await second)).toBe('output')

  const single = new ScriptedInteractor(() => new Promise(() => {}))
  const both = await host.openSession({ interactor: [many, single] })
  const asked = open.length
  const outcomes = ['d', 'e'].map((id) => both.call({ id, name: 'echo', arguments: { key: id } }))
  await flush()
  expect(open.slice(asked).map(({ callId }) => callId)).toEqual(['d'])
  await both.close()
  await Promise.all(outcomes)
})

test('two sessions do not wait for each other', async () => {
  const { host } = createWorld(KEYED)
  const busy = await host.openSession({ approver: new ScriptedApprover() })
  const free = await host.openSession({ approver: new ScriptedApprover('once') })
  const waiting = busy.call({ id: 'c1', name: 'echo', arguments: { key: 'a' } })
  expect(verdictOf(await free.call({ id: 'c1', name: 'echo', arguments: { key: 'a' } }))).toBe('output')
  await busy.close()
  expect(verdictOf(await waiting)).toBe('SessionCancelled')
})

test('a call that is cancelled in the queue never asks, and the next one does', async () => {
  const approver = new ScriptedApprover()
  const session = await createWorld(KEYED).host.openSession({ approver })
  const cancel = new AbortController()
  const first = session.call({ id: 'a', name: 'echo', arguments: { key: 'a' } })
  const second = session.call({ id: 'b', name: 'echo', arguments: { key: 'b' } }, { signal: cancel.signal })
  const third = session.call({ id: 'c', name: 'echo', arguments: { key: 'c' } })
  await flush()
  cancel.abort()
  expect(verdictOf(await second)).toBe('ToolCancelled')
  approver.answer('once')
  await flush()
  approver.answer('once')
  expect((await Promise.all([first, third])).map(verdictOf)).toEqual(['output', 'output'])
  expect(approver.asked.map(({ callId }) => callId)).toEqual(['a', 'c'])
})

test('a tool asks the person of the session that called it', async () => {
  const { host, eventsOf } = createWorld(ASKING)
  const people = ['one', 'two'].map((name) => new ScriptedInteractor(() => ({ status: 'accepted', value: name })))
  const sessions = await Promise.all(people.map((interactor) => host.openSession({ interactor })))
  const outcomes = await Promise.all(
    sessions.map((session) => session.call({ id: 'same', name: 'echo', arguments: {} })),
  )
  expect(outcomes).toMatchObject([{ data: { value: 'one' } }, { data: { value: 'two' } }])
  expect(people[0]!.asked).toMatchObject([
    {
      source: 'extension sample', request: { kind: 'Ask', prompt: 'Which one?' }, issuedAt: expect.stringMatching(/Z$/),
    },
  ])
  expect(eventsOf('InteractionAnswered')).toHaveLength(2)
})

test('the time of a call is paused while a person is asked', async () => {
  const clock = new ManualClock()
  const answer = Promise.withResolvers<void>()
  const { host } = createWorld({ ...ASKING, clock })
  const session = await host.openSession({
    interactor: new ScriptedInteractor(async () => {
      await answer.promise
      return { status: 'accepted', value: 'late' }
    }),
  })
  const outcome = session.call({ id: 'c1', name: 'echo', arguments: {} })
  await clock.advance(10_000_000)
  answer.resolve()
  expect(await outcome).toMatchObject({ type: 'output', data: { value: 'late' } })
  expect(clock.pending).toBe(0)
})

test('a question without a person, of a reserved kind, or outside of a call is rejected', async () => {
  const world = createWorld(ASKING)
  const headless = await world.host.openSession({})
  expect(verdictOf(await headless.call({ id: 'c1', name: 'echo', arguments: {} }))).toBe('InteractionUnavailable')
  const session = await world.host.openSession({
    interactor: new ScriptedInteractor(() => ({ status: 'accepted', value: null })),
  })
  expect(verdictOf(await session.call({ id: 'c2', name: 'echo', arguments: { kind: 'trustProject' } }))).toBe(
    'CapabilityDenied',
  )
  const { services } = world.compartment().request
  await expect(
    services.interact!('no such call', { kind: 'Ask', prompt: '?' }, new AbortController().signal),
  ).rejects.toMatchObject({ code: 'InteractionUnavailable' })
})

test('a question names the call it belongs to', async () => {
  const asked = new ScriptedInteractor(({ request }) => ({
    status: 'accepted', value: request.kind === 'Approve' ? { decision: 'once' } : 'this one',
  }))
  const approving = await createWorld(KEYED).host.openSession({ interactor: asked })
  await approving.call({ id: 'c1', name: 'echo', arguments: { key: 'a' } })
  const asking = await createWorld(ASKING).host.openSession({ interactor: asked })
  await asking.call({ id: 'c2', name: 'echo', arguments: {} })
  expect(asked.asked.map(({ request, callId }) => [request.kind, callId])).toEqual([['Approve', 'c1'], ['Ask', 'c2']])
})
