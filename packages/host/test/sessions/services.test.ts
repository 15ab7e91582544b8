import type { InteractionEnvelope, Interactor } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { flush, ManualClock } from '../twin/clock.ts'
import { createWorld, type ExtensionSketch } from '../twin/world.ts'

test('log lines of an extension are events with the call they belong to', async () => {
  const world = createWorld({
    extensions: [
      {
        phases: { init: ({ log }) => log.warn('starting') },
        tools: {
          echo: { execute: (_, { services, callId }) => services.log({ level: 'info', text: 'working', callId }) },
        },
      },
    ],
  })
  const session = await world.host.openSession({ mode: 'yolo' })
  await session.call({ id: 'c1', name: 'echo', arguments: {} })
  expect(world.eventsOf('ExtensionLog')).toMatchObject([
    {
      extensionId: 'sample', level: 'warn', text: 'starting', callId: undefined,
    }, { extensionId: 'sample', level: 'info', text: 'working', callId: 'c1' },
  ])
})

test('only declared variables are read, when the extension starts', async () => {
  const asked: string[] = []
  const world = createWorld({ extensions: [{ env: ['HARBOUR'] }], env: (name) => { asked.push(name); return 'value' } })
  const session = await world.host.openSession({ mode: 'yolo' })
  expect(asked).toEqual([])
  await session.call({ id: 'c1', name: 'echo', arguments: {} })
  expect(asked).toEqual(['HARBOUR'])
  expect(world.compartment().request.services.env).toEqual(new Map([['HARBOUR', 'value']]))
})

test('secrets go only to the broker, with the hosts they may be used for', async () => {
  const tools = { fetch: { requires: { net: { hosts: ['api.example.com'] }, shell: [{ cmd: 'git' }] } } }
  const secrets = [{ name: 'KEY', hosts: ['api.example.com'] }, { name: 'UNSET', commands: ['git'] }]
  const world = createWorld({ extensions: [{ tools, secrets }], env: (name) => ({ KEY: 'the canary sings' })[name] })
  const session = await world.host.openSession({ mode: 'yolo' })
  const outcome = await session.call({ id: 'c1', name: 'fetch', arguments: {} })
  const { request } = world.compartment()
  expect(request.services.secrets).toEqual(new Map([
    ['KEY', { value: 'the canary sings', hosts: ['api.example.com'], commands: [] }],
    ['UNSET', { value: undefined, hosts: [], commands: ['git'] }],
  ]))
  expect(request.services.env).toEqual(new Map())
  const { services: _, ...rest } = request
  expect(JSON.stringify([outcome, world.events, world.host.tools(), rest])).not.toContain('the canary sings')
})

const SIGNS_IN: ExtensionSketch = {
  tools: { echo: { requires: { fs: { read: ['{workspace}'] }, capabilities: ['interact'] } } },
  phases: { init: async ({ interact, log }) => log.info(await interact!.password('Token?')) },
}
const person = (password: string, seen: InteractionEnvelope[] = []): Interactor => ({
  interact: async (envelope) => {
    seen.push(envelope)
    return { status: 'accepted', value: password }
  },
})

test('init asks the person of the session that starts it, and its time is paused', async () => {
  const clock = new ManualClock()
  const world = createWorld({ clock, extensions: [SIGNS_IN] })
  const seen: InteractionEnvelope[] = []
  const slow: Interactor = {
    interact: async (envelope, signal) => {
      await clock.advance(600_000)
      return person('hunter2', seen).interact(envelope, signal)
    },
  }
  const session = await world.host.openSession({ mode: 'yolo', interactor: slow })
  expect(await session.call({ id: 'c1', name: 'echo', arguments: { a: 1 } }, { timeoutMs: 100 })).toMatchObject({
    data: { a: 1 },
  })
  expect(seen).toMatchObject([{ source: 'extension sample', request: { kind: 'Auth.Password', prompt: 'Token?' } }])
  expect(world.eventsOf('ExtensionLog')).toMatchObject([{ text: 'hunter2' }])
})

test('an extension outside of any call asks the interactor of the host', async () => {
  const world = createWorld({
    extensions: [{ ...SIGNS_IN, discoveryRules: { activation: 'eager' } }], interactor: person('of the host'),
  })
  await flush()
  expect(world.host.tool('echo')?.state).toBe('active')
  expect(world.eventsOf('ExtensionLog')).toMatchObject([{ text: 'of the host' }])
  world.find({ extensions: [{ ...SIGNS_IN, version: '2.0.0' }] })
  await world.host.reload()
  expect(world.eventsOf('ExtensionLog')).toHaveLength(2)
})

test('init fails if no person can be asked, and is not retried', async () => {
  const world = createWorld({ extensions: [SIGNS_IN] })
  const session = await world.host.openSession({ mode: 'yolo' })
  expect(await session.call({ id: 'c1', name: 'echo', arguments: {} })).toMatchObject({
    error: { code: 'InteractionUnavailable' },
  })
  expect(world.host.tool('echo')?.state).toBe('failed')
  const attended = await world.host.openSession({ mode: 'yolo', interactor: person('now') })
  expect(await attended.call({ id: 'c2', name: 'echo', arguments: {} })).toMatchObject({ type: 'output' })
})

test('a question of init ends with its session, and the next call asks again', async () => {
  const world = createWorld({ extensions: [SIGNS_IN] })
  const withdrawn = Promise.withResolvers<void>()
  const idle: Interactor = {
    interact: (_, signal) => new Promise((__, reject) => signal.addEventListener('abort', () => {
      withdrawn.resolve()
      reject(signal.reason)
    })),
  }
  const first = await world.host.openSession({ mode: 'yolo', interactor: idle })
  const other = await world.host.openSession({ mode: 'yolo', interactor: person('mine') })
  const calls = [first, other].map((session) => session.call({ id: 'c', name: 'echo', arguments: {} }))
  await flush()
  await first.close()
  await withdrawn.promise
  expect(await Promise.all(calls)).toMatchObject([
    { error: { code: 'SessionCancelled' } },
    {
      error: { code: 'InteractionUnavailable' },
      error_text: expect.stringContaining('The session of the person who was asked has ended.'),
    },
  ])
  expect(await other.call({ id: 'd', name: 'echo', arguments: {} })).toMatchObject({ type: 'output' })
})

test('questions of several hosts to one person have different ids', async () => {
  const seen: InteractionEnvelope[] = []
  const shared = {
    extensions: [{ ...SIGNS_IN, discoveryRules: { activation: 'eager' } }], interactor: person('x', seen),
  } as const
  createWorld(shared)
  createWorld(shared)
  await flush()
  expect(new Set(seen.map(({ correlationId }) => correlationId)).size).toBe(2)
})
