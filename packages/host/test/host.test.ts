import { BulkheadError, type Diagnostic } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { flush, ManualClock } from './twin/clock.ts'
import { createWorld, sketchExtension, verdictOf } from './twin/world.ts'

const yolo = { mode: 'yolo' } as const
const echo = { name: 'echo', arguments: {} }
const STUCK = { requires: { net: { hosts: ['example.com'] } }, execute: () => new Promise(() => {}) }

test('diagnostics of the loader come before those of the registry', () => {
  const loaders: Diagnostic = {
    severity: 'error',
    stage: 'shape',
    code: 'ShapeInvalid',
    layer: 'project',
    extensionId: null,
    location: '/p',
    path: '',
    message: 'm',
    cure: 'c',
  }
  const { host } = createWorld({ diagnostics: [loaders], extensions: [{ dependsOn: ['gone'] }] })
  expect(host.diagnostics).toMatchObject([{ code: 'ShapeInvalid' }, { code: 'DependencyMissing', stage: 'register' }])
})

test('the list shows the current state', async () => {
  const world = createWorld()
  expect(world.host.tools()[0]?.state).toBe('validated')
  await (await world.host.openSession(yolo)).call({ id: 'c', ...echo })
  expect(world.host.tools()[0]?.state).toBe('active')
})

test('close waits for running calls, then stops the extensions that ran, once', async () => {
  const gate = Promise.withResolvers<string>()
  const world = createWorld({
    extensions: [{ tools: { echo: { execute: () => gate.promise } } }, { id: 'unused', tools: { other: {} } }],
  })
  const session = await world.host.openSession(yolo)
  const running = session.call({ id: 'a', ...echo })
  await flush()
  const closing = world.host.close()
  expect(world.host.close()).toBe(closing)
  expect(verdictOf(await session.call({ id: 'b', ...echo }))).toBe('HostClosed')
  await expect(world.host.openSession()).rejects.toMatchObject({ code: 'HostClosed' })
  gate.resolve('in time')
  expect(await running).toMatchObject({ type: 'output', data: 'in time' })
  expect(await closing).toEqual({ stopped: ['sample'], faults: [], cancelledCalls: 0 })
  expect(world.compartment().phases).toEqual(['init', 'activate', 'deactivate', 'dispose'])
  expect(world.sandbox.alive).toEqual([])
  expect(
    world.eventsOf('LifecycleStateChanged').filter(({ to }) => to === 'disposed').map(
      ({ extensionId }) => extensionId,
    ).toSorted(),
  ).toEqual(['sample', 'unused'])
  expect(world.eventsOf('SessionClosed')).toHaveLength(1)
  expect(world.host.tools()).toEqual([])
})

test('calls that do not end in time are cancelled with the reason, and counted', async () => {
  const clock = new ManualClock()
  const world = createWorld({ clock, drainMs: 100, extensions: [{ tools: { echo: STUCK } }] })
  const session = await world.host.openSession(yolo)
  const running = [1, 2].map((index) => session.call({ id: `c${index}`, ...echo }))
  await flush()
  const closing = world.host.close()
  await clock.advance(100)
  expect(await Promise.all(running)).toMatchObject([
    { error: { code: 'HostClosed' }, completion: { terminal: true } }, { error: { code: 'HostClosed' } },
  ])
  expect(await closing).toEqual({ stopped: ['sample'], faults: [], cancelledCalls: 2 })
  expect(clock.pending).toBe(0)
})

test('the compartment of a cancelled call that still runs is stopped and named', async () => {
  const world = createWorld()
  await (await world.host.openSession(yolo)).call({ id: 'c', ...echo })
  world.compartment().quiet = new Promise(() => {})
  expect(await world.host.close()).toEqual({ stopped: ['sample'], faults: [], cancelledCalls: 0 })
})

test('a call that waits for a person does not delay the close', async () => {
  const clock = new ManualClock()
  const world = createWorld({ clock, drainMs: 100 })
  const session = await world.host.openSession({ approver: { approve: () => new Promise(() => {}) } })
  const waiting = session.call({ id: 'c1', ...echo })
  await flush()
  const closing = world.host.close()
  await clock.advance(100)
  expect(verdictOf(await waiting)).toBe('HostClosed')
  expect((await closing).cancelledCalls).toBe(1)
})

test('dependents stop before their dependencies', async () => {
  const log: string[] = []
  const slowly = (name: string) => async () => {
    log.push(`${name} begins`)
    await flush()
    log.push(`${name} has stopped`)
  }
  const world = createWorld({
    extensions: [
      { id: 'top', dependsOn: ['base'], phases: { deactivate: slowly('top') } },
      { id: 'base', tools: { other: {} }, phases: { deactivate: slowly('base') } },
    ],
  })
  await (await world.host.openSession(yolo)).call({ id: 'c', ...echo })
  expect((await world.host.close()).stopped).toEqual(['top', 'base'])
  expect(log).toEqual(['top begins', 'top has stopped', 'base begins', 'base has stopped'])
})

test.each(['deactivate', 'dispose'] as const)('a failing %s is reported, and the extension ends', async (phase) => {
  const world = createWorld({ extensions: [{ phases: { [phase]: () => { throw new Error('I will not go') } } }] })
  await (await world.host.openSession(yolo)).call({ id: 'c', ...echo })
  expect(await world.host.close()).toMatchObject({
    stopped: [],
    faults: [
      {
        extension: 'sample',
        error: { code: 'LifecycleFailure', message: `The phase ${phase} of "sample" failed: I will not go` },
      },
    ],
  })
  expect(world.sandbox.alive).toEqual([])
  expect(world.eventsOf('LifecycleStateChanged').at(-1)).toMatchObject({ to: 'disposed' })
})

test('dispose runs after a failing deactivate', async () => {
  const log: string[] = []
  const world = createWorld({
    extensions: [{ phases: { deactivate: () => { throw new Error('no') }, dispose: () => { log.push('disposed') } } }],
  })
  await (await world.host.openSession(yolo)).call({ id: 'c', ...echo })
  expect((await world.host.close()).faults).toMatchObject([
    { error: { message: 'The phase deactivate of "sample" failed: no' } },
  ])
  expect(log).toEqual(['disposed'])
})

test('an extension that is stopped while it activates does not become active', async () => {
  const clock = new ManualClock()
  const gate = Promise.withResolvers<void>()
  const world = createWorld({ clock, drainMs: 100, extensions: [{ phases: { activate: () => gate.promise } }] })
  const session = await world.host.openSession(yolo)
  const waiting = session.call({ id: 'c', ...echo })
  await flush()
  const closing = world.host.close()
  await clock.advance(1_000)
  expect(await closing).toMatchObject({
    stopped: [], faults: [{ extension: 'sample', error: { code: 'LifecycleTimeout' } }],
  })
  expect(verdictOf(await waiting)).toBe('HostClosed')
  gate.resolve()
  await flush()
  expect(world.sandbox.alive).toEqual([])
  expect(world.eventsOf('LifecycleStateChanged').at(-1)).toMatchObject({ to: 'disposed' })
})

test('an extension that does not stop is named', async () => {
  const clock = new ManualClock()
  const world = createWorld({ clock, drainMs: 100 })
  await (await world.host.openSession(yolo)).call({ id: 'c', ...echo })
  world.compartment().close = () => new Promise(() => {})
  const closing = world.host.close()
  await clock.advance(20_000)
  expect(await closing).toMatchObject({
    stopped: [], faults: [{ extension: 'sample', error: { code: 'LifecycleTimeout' } }],
  })
})

test('an extension that is starting is stopped before it runs', async () => {
  const clock = new ManualClock()
  const world = createWorld({ clock, drainMs: 100 })
  world.sandbox.beforeOpen = () => new Promise(() => {})
  const session = await world.host.openSession(yolo)
  const waiting = session.call({ id: 'c', ...echo })
  await flush()
  const closing = world.host.close()
  await clock.advance(1_000)
  expect(verdictOf(await waiting)).toBe('HostClosed')
  expect(await closing).toEqual({ stopped: [], faults: [], cancelledCalls: 1 })
  expect(world.sandbox.compartments).toEqual([])
  expect(world.eventsOf('LifecycleStateChanged').at(-1)).toMatchObject({ to: 'disposed' })
})

test('a crash while the host closes is not a fault of the close', async () => {
  const world = createWorld({
    extensions: [
      {
        phases: {
          deactivate: () => {
            world.compartment().crash(new BulkheadError('CompartmentCrashed', 'bye'))
          },
        },
      },
    ],
  })
  await (await world.host.openSession(yolo)).call({ id: 'c', ...echo })
  expect((await world.host.close()).faults).toMatchObject([{ error: { code: 'CompartmentCrashed' } }])
  expect(world.eventsOf('LifecycleStateChanged').at(-1)).toMatchObject({ to: 'disposed' })
})

test('a listener that throws changes nothing', async () => {
  const world = createWorld()
  world.host.on(() => { throw new Error('broken') })
  const off = world.host.on(() => { throw new Error('removed') })
  off()
  const session = await world.host.openSession(yolo)
  expect(verdictOf(await session.call({ id: 'c', ...echo }))).toBe('output')
  expect(new Set(world.eventsOf('SuppressedError').map(({ message }) => message))).toEqual(new Set(['broken']))
})

test('a name has an origin and a generation, and extensions come and go while others run', async () => {
  const world = createWorld({
    extensions: [{ id: 'low', layer: 'bundled', tools: { echo: { execute: () => 'low' } } }],
  })
  const session = await world.host.openSession(yolo)
  const callEcho = async () => await session.call({ id: 'c', ...echo })
  expect(await callEcho()).toMatchObject({ data: 'low' })
  expect(world.host.tool('echo')).toMatchObject({ extension: 'low', layer: 'bundled', generation: 1 })
  const { descriptor, module } = sketchExtension({ id: 'high', tools: { echo: { execute: () => 'high' } } })
  world.sandbox.add('global/high/1.0.0', module)
  await world.host.register([descriptor])
  expect(world.host.tool('echo')).toMatchObject({ extension: 'high', generation: 2, shadows: [{ extension: 'low' }] })
  expect(await callEcho()).toMatchObject({ data: 'high' })
  expect(await world.host.unregister('high')).toBe(true)
  expect(await world.host.unregister('high')).toBe(false)
  expect(await callEcho()).toMatchObject({ data: 'low' })
  await flush()
  expect(world.sandbox.alive.map(({ id }) => id)).toEqual(['low'])
  await world.host.clear()
  expect(world.host.tools()).toEqual([])
  expect(world.host.tool('echo')).toBeUndefined()
  await flush()
  expect(world.sandbox.alive).toEqual([])
  await world.host.close()
  await expect(world.host.register([descriptor])).rejects.toMatchObject({ code: 'HostClosed' })
})

test('two hosts share nothing', async () => {
  const [one, other] = [createWorld(), createWorld({ extensions: [] })]
  expect(one.host.tools()).toHaveLength(1)
  expect(other.host.tools()).toEqual([])
  await one.host.clear()
  expect(verdictOf(await (await other.host.openSession(yolo)).call({ id: 'c', ...echo }))).toBe('ToolNotRegistered')
})

test('the status shows why an extension failed and how long it is quarantined', async () => {
  const clock = new ManualClock()
  const world = createWorld({ clock, extensions: [{ phases: { init: () => { throw new Error('no licence') } } }] })
  const session = await world.host.openSession(yolo)
  for (let i = 0; i < 4; i++) await session.call({ id: 'c', ...echo })
  expect(world.host.extensions()).toMatchObject([{
    id: 'sample', state: 'failed', availability: 'offered', calls: 0, restMs: 1_000, 
    fault: { code: 'LifecycleFailure', message: 'The phase init of "sample" failed: no licence' },
  }])
  expect(world.eventsOf('LifecyclePhaseEnd').at(-1)).toMatchObject({
    phase: 'init', ok: false, errorCode: 'LifecycleFailure', message: 'no licence',
  })
})

test('an extension of the embedder survives reloads, and cannot replace an offered one', async () => {
  const world = createWorld()
  const { descriptor } = sketchExtension({ id: 'bridge', tools: { remote: {} } })
  await world.host.register([descriptor])
  expect((await world.host.reload()).changes).toEqual([])
  world.find({ extensions: [] })
  await world.host.reload()
  expect(world.host.tools().map(({ name }) => name)).toEqual(['remote'])
  const rival = sketchExtension({ id: 'rival', tools: { remote: {} } }).descriptor
  await expect(world.host.register([rival])).rejects.toMatchObject({ code: 'RegistrationConflict' })
  await expect(world.host.register([descriptor])).rejects.toMatchObject({ code: 'RegistrationConflict' })
  expect(world.host.tool('remote')?.extension).toBe('bridge')
  expect(world.host.diagnostics).toEqual([])
})
