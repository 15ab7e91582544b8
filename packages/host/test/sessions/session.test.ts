import { expect, test } from 'vitest'
import type { SessionOptions } from '../../src/index.ts'
import { flush } from '../twin/clock.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

const HANGING = { extensions: [{ tools: { echo: { execute: () => new Promise(() => {}) } } }] }
const echo = { name: 'echo', arguments: {} }

test('tools are listed as definitions, without operator details', async () => {
  const session = await createWorld({
    extensions: [{ tools: { b: {}, a: { label: 'The A', idempotent: true } } }],
  }).host.openSession()
  expect(session.tools()).toEqual([
    expect.objectContaining({
      name: 'a',
      label: 'The A',
      description: 'The tool a.',
      inputSchema: { type: 'object' },
      mode: 'read',
      gated: true,
      idempotent: true,
      executor: 'local',
    }),
    expect.objectContaining({ name: 'b', label: 'b' }),
  ])
  expect(session.tools()[0]).not.toHaveProperty('packageDigest')
})

test('closing cancels running calls, rejects later ones, and happens once', async () => {
  const world = createWorld(HANGING)
  const session = await world.host.openSession({ mode: 'yolo' })
  const running = session.call({ id: 'a', ...echo })
  await flush()
  await Promise.all([session.close(), session.close()])
  expect(await running).toMatchObject({
    error: { code: 'SessionCancelled', class: 'Cancellation' }, completion: { terminal: true },
  })
  expect(verdictOf(await session.call({ id: 'b', ...echo }))).toBe('SessionCancelled')
  expect(world.eventsOf('SessionClosed')).toEqual([expect.objectContaining({ sessionId: session.id })])
})

test('the signal of a session cancels its present and later calls, and no other session', async () => {
  const { host } = createWorld(HANGING)
  const cancel = new AbortController()
  const cancelled = await host.openSession({ mode: 'yolo', signal: cancel.signal })
  const other = await host.openSession({ mode: 'yolo' })
  const outcomes = [cancelled.call({ id: 'a', ...echo }), other.call({ id: 'a', ...echo })]
  await flush()
  cancel.abort(new Error('enough'))
  expect(verdictOf(await outcomes[0]!)).toBe('SessionCancelled')
  expect(verdictOf(await cancelled.call({ id: 'b', ...echo }))).toBe('SessionCancelled')
  await other.close()
  expect(verdictOf(await outcomes[1]!)).toBe('SessionCancelled')
})

test('a session that is opened with an aborted signal is cancelled', async () => {
  const session = await createWorld().host.openSession({ mode: 'yolo', signal: AbortSignal.abort() })
  expect(verdictOf(await session.call({ id: 'a', ...echo }))).toBe('SessionCancelled')
})

test.each<[string, SessionOptions, string]>([
  ['an unknown mode', { mode: 'wild' as never }, 'ConfigInvalid'],
  ['a watchdog that is none', { watchdog: [{}] as never }, 'ConfigInvalid'],
  ['a guard without a function', { guards: [{ id: 'idle' }] }, 'ConfigInvalid'],
  ['a guard without an id', { guards: [{ pre: () => undefined } as never] }, 'ConfigInvalid'],
  ['a guard that is none', { guards: [null as never] }, 'ConfigInvalid'],
  ['a state machine without a stage', { stateMachine: { id: 'm' } as never }, 'ConfigInvalid'],
  ['hooks that are none', { hooks: 'all' as never }, 'ConfigInvalid'],
  [
    'a rule of another form', { rules: [{ permission: 'echo', pattern: '*', action: 'maybe' as never }] },
    'ConfigInvalid',
  ],
  ['a ceiling that cannot be compiled', { ceiling: { fs: { read: ['{nowhere}/x'] } } }, 'RequirementInvalid'],
  [
    'a rule that cannot be compiled',
    { rules: [{ permission: 'fs.read', pattern: '{nowhere}/x', action: 'deny' }] },
    'RequirementInvalid',
  ],
])('%s is rejected when the session is opened', async (_, options, code) => {
  await expect(createWorld().host.openSession(options)).rejects.toMatchObject({ code })
})

test('saved results are removed when the session closes, and a failure is reported', async () => {
  const discarded: string[] = []
  const world = createWorld({
    sidecar: { save: async () => '', discard: async (id) => { discarded.push(id); throw new Error('locked') } },
  })
  const session = await world.host.openSession()
  await session.close()
  expect(discarded).toEqual([session.id])
  expect(world.eventsOf('SuppressedError')).toMatchObject([{ source: 'sidecar', message: 'locked' }])
})

test('a session that is closed by a listener of its cancellation ends once', async () => {
  const world = createWorld(HANGING)
  const session = await world.host.openSession({ mode: 'yolo' })
  const again: Promise<void>[] = []
  session.beginTurn().signal.addEventListener('abort', () => {
    again.push(session.close())
    expect(() => session.beginTurn()).toThrowError(expect.objectContaining({ code: 'TurnInvalid' }))
  })
  await session.close()
  expect(again).toEqual([session.close()])
  expect(world.eventsOf('SessionClosed')).toHaveLength(1)
})

test.each(['host', 'parent'] as const)(
  'every SessionOpened has its SessionClosed, also if the %s closes in the same tick',
  async (who) => {
    const world = createWorld()
    const parent = await world.host.openSession({ mode: 'yolo' })
    const over = Promise.withResolvers<unknown>()
    world.host.on(() => over.resolve(who === 'host' ? world.host.close() : parent.close()), ['SessionOpened'])
    const cancel = new AbortController()
    const options = { mode: 'yolo', signal: cancel.signal } as const
    const session = who === 'host' ? await world.host.openSession(options) : await parent.openSubagent(options)
    await over.promise
    expect(world.eventsOf('SessionClosed').map(({ sessionId }) => sessionId)).toContain(session.id)
    expect(verdictOf(await session.call({ id: 'a', ...echo }))).toMatch(/HostClosed|SessionCancelled/)
  },
)

test.each([new AbortController(), 'soon', {}])(
  'a call with an invalid signal (%j) ends with an error, and leaves nothing open',
  async (signal) => {
    const { host } = createWorld()
    const session = await host.openSession({ mode: 'yolo' })
    const options = { signal: signal as never }
    const error = { code: 'InputInvalid', data: { path: '/signal' } }
    expect(await session.call({ id: 'a', ...echo }, options)).toMatchObject({
      error, error_text: expect.stringMatching(/signal.*AbortSignal/),
    })
    expect(
      await session.callAll(
        [
          { id: 'b', ...echo }, { id: 'c', ...echo },
        ],
        options,
      ),
    ).toMatchObject([{ error }, { error }])
    expect(() => session.beginTurn(options)).toThrowError(
      expect.objectContaining({ code: 'ConfigInvalid', data: { path: '/signal' } }),
    )
    expect(session.beginTurn().number).toBe(1)
    expect(verdictOf(await session.call({ id: 'd', ...echo }))).toBe('output')
    expect(await host.close()).toMatchObject({ cancelledCalls: 0 })
  },
)

test('an unknown reason to cancel counts as "user"', async () => {
  const session = await createWorld().host.openSession({ mode: 'yolo' })
  session.cancel('toString' as never)
  expect(await session.call({ id: 'a', ...echo })).toMatchObject({
    error: { code: 'SessionCancelled', data: { reason: 'user' } },
    error_text: expect.stringContaining('The session was cancelled.'),
  })
})

test('listed schemas are copies: changing them does not change the checks', async () => {
  const city = Object.freeze({ type: 'string' })
  const inputSchema = Object.freeze({
    type: 'object', properties: Object.freeze({ city }), required: Object.freeze(['city']),
  })
  const outputSchema = Object.freeze({ type: 'object', properties: Object.freeze({}) })
  const world = createWorld({ extensions: [{ tools: { echo: { inputSchema, outputSchema } } }] })
  const session = await world.host.openSession({ mode: 'yolo' })
  const turn = session.beginTurn()
  for (const list of [
    () => session.tools(), () => turn.tools(), () => world.host.tools(), () => [world.host.tool('echo')!],
  ]) {
    const [tool] = list()
    const given = tool!.inputSchema as { properties: { city: object }; required: string[]; $id?: string }
    given.$id = 'urn:marked'
    given.required.length = 0
    Object.assign(given.properties.city, { type: 'number' })
    Object.assign(tool!.outputSchema!['properties'] as object, { more: true })
    expect(list()[0]).toMatchObject({ inputSchema, outputSchema })
    expect(Object.keys(list()[0]!)).toEqual(expect.arrayContaining(['inputSchema', 'outputSchema']))
    expect(JSON.parse(JSON.stringify(list()[0]))).toMatchObject({
      inputSchema, outputSchema: { type: 'object', properties: {} },
    })
  }
  expect(await session.call({ id: 'c1', name: 'echo', arguments: {} })).toMatchObject({
    error: { code: 'InputInvalid' },
  })
})
