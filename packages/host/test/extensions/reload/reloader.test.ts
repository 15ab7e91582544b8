import type { LifecycleState } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { flush, ManualClock } from '../../twin/clock.ts'
import { createWorld, type ExtensionSketch, type World } from '../../twin/world.ts'
import { echo, running, version, yolo } from './versions.ts'

const statesOf = ({ eventsOf }: World, generation: number): readonly LifecycleState[] =>
  eventsOf('LifecycleStateChanged').filter((event) => event.generation === generation).map(({ to }) => to)

test('a changed extension starts beside the running one and takes over, and the old one stops', async () => {
  const world = createWorld({ extensions: [version(1)] })
  const { callEcho } = await running(world)
  const order: string[] = []
  world.sandbox.beforeOpen = () => { order.push(`opened while ${world.sandbox.alive.length} run`) }
  world.find({ extensions: [version(2)] })
  const { changes } = await world.host.reload()
  expect(changes).toEqual([{ extension: 'sample', layer: 'global', result: 'reloaded', generation: 2 }])
  expect(order).toEqual(['opened while 1 run'])
  expect(await callEcho()).toBe('v2')
  await flush()
  expect(statesOf(world, 1)).toEqual([
    'initialising', 'loaded', 'activating', 'active', 'draining', 'inactive', 'disposed',
  ])
  expect(statesOf(world, 2)).toEqual(['initialising', 'loaded', 'activating', 'active'])
  expect(world.sandbox.alive).toHaveLength(1)
  expect(world.eventsOf('ExtensionReloaded')).toMatchObject([{ extensionId: 'sample', generation: 2 }])
  expect(world.host.tool('echo')).toMatchObject({ version: '2.0.0', generation: 2, layer: 'global' })
})

test('a running call ends in its generation, while new calls go to the new one', async () => {
  const gate = Promise.withResolvers<string>()
  const world = createWorld({ extensions: [version(1, { tools: { echo: { execute: () => gate.promise } } })] })
  const session = await world.host.openSession(yolo)
  const inFlight = session.call({ id: 'a', ...echo })
  await flush()
  world.find({ extensions: [version(2)] })
  await world.host.reload()
  expect(await session.call({ id: 'b', ...echo })).toMatchObject({ data: 'v2' })
  expect(
    world.host.extensions().map(({ generation, availability, calls }) => ({ generation, availability, calls })),
  ).toEqual([
    { generation: 2, availability: 'offered', calls: 0 }, { generation: 1, availability: 'leaving', calls: 1 },
  ])
  gate.resolve('v1')
  expect(await inFlight).toMatchObject({ data: 'v1', metadata: { origin: { version: '1.0.0' } } })
  await flush()
  expect(world.host.extensions().map(({ generation }) => generation)).toEqual([2])
  expect(world.sandbox.alive).toHaveLength(1)
})

test('a call that waits for a person is bound to the version that the person sees', async () => {
  const answer = Promise.withResolvers<{ decision: 'once' }>()
  const world = createWorld({ extensions: [version(1)] })
  const session = await world.host.openSession({ approver: { approve: () => answer.promise } })
  const waiting = session.call({ id: 'a', ...echo })
  await flush()
  world.find({ extensions: [version(2)] })
  await world.host.reload()
  answer.resolve({ decision: 'once' })
  expect(await waiting).toMatchObject({ data: 'v1' })
})

const FAILURES: readonly [string, ExtensionSketch, string][] = [
  [
    'cannot be opened',
    {
      readFiles: async () => {
        throw new Error('gone')
      },
    },
    'CompartmentStartFailed',
  ],
  [
    'fails in init',
    {
      phases: {
        init: () => {
          throw new Error('no')
        },
      },
    },
    'LifecycleFailure',
  ],
  [
    'fails in activate',
    {
      phases: {
        activate: () => {
          throw new Error('no')
        },
      },
    },
    'LifecycleFailure',
  ],
  [
    'cannot be compiled', { tools: { echo: { inputSchema: { type: 'object', properties: [] } } } },
    'ConfigSchemaInvalid',
  ],
  ['depends on a missing extension', { dependsOn: ['gone'] }, 'DependencyMissing'],
]

test.each(FAILURES)('when the new one %s, the last good one keeps running', async (_, sketch, code) => {
  const world = createWorld({ extensions: [version(1)] })
  const { callEcho } = await running(world)
  world.find({ extensions: [version(2, sketch)] })
  const { changes } = await world.host.reload()
  expect(changes).toMatchObject([{ extension: 'sample', result: 'failed', generation: 1, error: { code } }])
  expect(await callEcho()).toBe('v1')
  await flush()
  expect(statesOf(world, 1)).toEqual(['initialising', 'loaded', 'activating', 'active'])
  expect(world.sandbox.alive).toHaveLength(1)
  expect(world.host.diagnostics).toMatchObject([{ code, extensionId: 'sample', stage: 'register' }])
  expect(world.eventsOf('ExtensionReloadFailed')).toMatchObject([{ extensionId: 'sample', errorCode: code }])
  world.find({ extensions: [version(3)] })
  await world.host.reload()
  expect(await callEcho()).toBe('v3')
  expect(world.host.diagnostics).toEqual([])
})

test('the last good one can be started again after its files changed', async () => {
  let reads = 0
  const readFiles = async () => {
    if (++reads > 1) throw new Error('the files are others now')
    return new Map()
  }
  const world = createWorld({ extensions: [version(1, { readFiles })] })
  const { callEcho } = await running(world)
  world.find({ extensions: [version(2, { phases: { init: () => { throw new Error('no') } } })] })
  await world.host.reload()
  world.compartment().crash()
  world.sandbox.alive[0]?.crash()
  await flush()
  expect(await callEcho()).toBe('v1')
})

test('a smoke check of the embedder runs before the new one is offered', async () => {
  const checked: unknown[] = []
  let refuse = false
  const world = createWorld({
    extensions: [version(1)],
    smokeCheck: async (trial) => {
      checked.push([trial.version, trial.tools, await trial.call('echo', {}), world.host.tool('echo')?.version])
      if (refuse) throw new Error('it answers nonsense')
    },
  })
  const { callEcho } = await running(world)
  world.find({ extensions: [version(2)] })
  await world.host.reload()
  expect(checked).toEqual([['2.0.0', ['echo'], 'v2', '1.0.0']])
  refuse = true
  world.find({ extensions: [version(3)] })
  expect((await world.host.reload()).changes).toMatchObject([
    { result: 'failed', error: { code: 'LifecycleFailure', message: 'it answers nonsense' } },
  ])
  expect(await callEcho()).toBe('v2')
})

test('a smoke check that does not end fails', async () => {
  const clock = new ManualClock()
  const world = createWorld({ clock, extensions: [version(1)], smokeCheck: () => new Promise(() => {}) })
  const { callEcho } = await running(world)
  world.find({ extensions: [version(2)] })
  const reloading = world.host.reload()
  await clock.advance(10_000)
  expect((await reloading).changes).toMatchObject([{ result: 'failed', error: { code: 'LifecycleTimeout' } }])
  expect(await callEcho()).toBe('v1')
})

test('an extension that crashes right after activation does not take over', async () => {
  const world = createWorld({ extensions: [version(1)] })
  const { callEcho } = await running(world)
  world.find({
    extensions: [
      version(2, {
        phases: {
          activate: () => {
            queueMicrotask(() => world.compartment().crash())
          },
        },
      }),
    ],
  })
  expect((await world.host.reload()).changes).toMatchObject([
    { result: 'failed', error: { code: 'CompartmentCrashed' } },
  ])
  expect(await callEcho()).toBe('v1')
})

test('an unchanged extension is not reloaded', async () => {
  const world = createWorld({ extensions: [version(1), { id: 'other', tools: { other: {} } }] })
  const { callEcho } = await running(world)
  world.find({ extensions: [version(1), { id: 'other', version: '2.0.0', tools: { other: {} } }] })
  expect((await world.host.reload()).changes).toMatchObject([{ extension: 'other', result: 'reloaded' }])
  expect(await callEcho()).toBe('v1')
  expect(world.sandbox.requests).toHaveLength(1)
  expect((await world.host.reload()).changes).toEqual([])
})

test('an extension that does not run is replaced without a start', async () => {
  const world = createWorld({ extensions: [version(1)] })
  world.find({ extensions: [version(2)] })
  await world.host.reload()
  expect(world.sandbox.requests).toEqual([])
  expect((await running(world)).first).toBe('v2')
})

test('an extension that is never reloaded keeps running and is reported as refused', async () => {
  const world = createWorld({ extensions: [version(1, { reloadBehavior: 'never' })] })
  const { callEcho } = await running(world)
  world.find({ extensions: [version(2, { reloadBehavior: 'never' })] })
  expect((await world.host.reload()).changes).toMatchObject([
    { result: 'refused', generation: 1, error: { code: 'ReloadRefused' } },
  ])
  expect(await callEcho()).toBe('v1')
  expect(world.eventsOf('ExtensionReloadRefused')).toMatchObject([
    { extensionId: 'sample', reason: expect.stringContaining('never') },
  ])
  expect(world.host.diagnostics).toMatchObject([{ code: 'ReloadRefused' }])
})

test('a reload by name restarts an unchanged extension; an unknown name is an error', async () => {
  const world = createWorld({ extensions: [version(1)] })
  const { callEcho } = await running(world)
  expect((await world.host.reload({ extensions: ['sample'] })).changes).toMatchObject([
    { result: 'reloaded', generation: 2 },
  ])
  expect(await callEcho()).toBe('v1')
  expect(world.sandbox.requests).toHaveLength(2)
  await expect(world.host.reload({ extensions: ['sampel'] })).rejects.toMatchObject({ code: 'ExtensionNotFound' })
})
