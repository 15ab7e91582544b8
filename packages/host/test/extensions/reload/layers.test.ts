import type { Diagnostic, ValidationStage } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { flush } from '../../twin/clock.ts'
import { createWorld, sketchExtension, type ExtensionSketch, type World } from '../../twin/world.ts'

const yolo = { mode: 'yolo' } as const
const named = (layer: 'bundled' | 'global' | 'project', more: ExtensionSketch = {}): ExtensionSketch =>
  ({ layer, tools: { echo: { execute: () => layer } }, ...more })
const answer = async ({ host }: World) => {
  const session = await host.openSession(yolo)
  const outcome = await session.call({ id: 'c', name: 'echo', arguments: {} })
  await session.close()
  return outcome.type === 'output' ? outcome.data : outcome.error.code
}
const faulty = (more: Partial<Diagnostic> = {}): Diagnostic => ({
  severity: 'error', stage: 'shape', code: 'ShapeInvalid', layer: 'global', extensionId: 'sample',
  location: '/layers/global/sample', path: '/tools', message: 'm', cure: 'c', ...more,
})

test('a new override takes over, and its removal restores the hidden tools, layer by layer', async () => {
  const world = createWorld({ extensions: [named('bundled')] })
  expect(await answer(world)).toBe('bundled')
  for (const [extensions, expected] of [
    [[named('bundled'), named('global')], 'global'],
    [[named('bundled'), named('global'), named('project')], 'project'],
    [[named('bundled'), named('project')], 'project'],
    [[named('bundled')], 'bundled'],
  ] as const) {
    world.find({ extensions })
    await world.host.reload()
    expect(await answer(world)).toBe(expected)
    await flush()
    expect(world.sandbox.alive).toHaveLength(1)
  }
})

test('a failed override leaves the lower layer running', async () => {
  const world = createWorld({ extensions: [named('global')] })
  await answer(world)
  world.find({ extensions: [named('global'), named('project', { phases: { init: () => { throw new Error('no') } } })] })
  expect((await world.host.reload()).changes).toMatchObject([
    { layer: 'project', result: 'failed', error: { code: 'LifecycleFailure' } },
  ])
  expect(await answer(world)).toBe('global')
  expect(world.sandbox.alive).toHaveLength(1)
})

test('a removed extension is stopped, dependents first, and its names are removed', async () => {
  const world = createWorld({
    extensions: [named('global'), { id: 'top', dependsOn: ['sample'], tools: { top: {} } }],
  })
  const session = await world.host.openSession(yolo)
  await session.call({ id: 'c', name: 'top', arguments: {} })
  world.find({ extensions: [{ id: 'top', dependsOn: ['sample'], tools: { top: {} } }] })
  expect((await world.host.reload()).changes).toMatchObject([
    { extension: 'sample', result: 'removed', generation: undefined },
  ])
  await flush()
  expect(world.host.tools()).toEqual([])
  expect(world.host.diagnostics).toMatchObject([{ code: 'DependencyMissing', extensionId: 'top' }])
  const ends = world
    .eventsOf('LifecycleStateChanged')
    .filter(({ to }) => to === 'disposed')
    .map(({ extensionId }) => extensionId)
  expect(ends).toEqual(['top', 'sample'])
})

test.each<[string, Diagnostic]>([
  ['its own', faulty()],
  ['of an unreadable manifest', faulty({ extensionId: null })],
  [
    'of its whole layer',
    faulty({ extensionId: null, location: '/layers/global', stage: 'locate', code: 'PackageUnsafe' }),
  ],
])('a faulty extension is not removed: the last good one keeps running with a diagnostic %s', async (_, diagnostic) => {
  const world = createWorld({ extensions: [named('global')] })
  expect(await answer(world)).toBe('global')
  world.find({ extensions: [], diagnostics: [diagnostic] })
  expect((await world.host.reload()).changes).toMatchObject([
    { result: 'failed', generation: 1, error: { code: diagnostic.code } },
  ])
  expect(await answer(world)).toBe('global')
  expect(world.host.diagnostics).toEqual([diagnostic])
})

test.each<[string, Partial<Parameters<World['find']>[0]>]>([
  [
    'the layer is no longer trusted',
    { diagnostics: [faulty({ stage: 'trust' satisfies ValidationStage, code: 'ProjectTrustRequired' })] },
  ],
  [
    'the policy became another',
    { diagnostics: [faulty({ stage: 'signature' })], config: { policy: { signature: { global: 'require' } } } },
  ],
  ['it is only a warning', { diagnostics: [faulty({ severity: 'warning' })] }],
  ['somebody else is faulty', { diagnostics: [faulty({ extensionId: 'other', location: '/layers/global/other' })] }],
  ['it is switched off', { diagnostics: [faulty()], config: { extensions: { sample: { enabled: false } } } }],
])('it is unloaded if %s', async (_, found) => {
  const world = createWorld({ extensions: [named('global')] })
  await answer(world)
  world.find({ extensions: [], ...found })
  expect((await world.host.reload()).changes).toMatchObject([{ result: 'removed' }])
  expect(await answer(world)).toBe('ToolNotRegistered')
  await flush()
  expect(world.sandbox.alive).toEqual([])
})

test('a new configuration changes the extensions that it names', async () => {
  const other: ExtensionSketch = { id: 'other', tools: { other: {} } }
  const configSchema = {
    type: 'object', additionalProperties: false, properties: { lang: { type: 'string' } },
  } as const
  const world = createWorld({ extensions: [named('global', { configSchema }), other] })
  await answer(world)
  world.find({ config: { extensions: { sample: { config: { lang: 'no' } } } } })
  expect((await world.host.reload()).changes).toMatchObject([{ extension: 'sample', result: 'reloaded' }])
  expect(world.compartment().request.config).toEqual({ lang: 'no' })
  world.find({ config: { extensions: { sample: { config: { lang: 5 } } } } })
  expect((await world.host.reload()).changes).toMatchObject([
    { result: 'failed', error: { code: 'ConfigSchemaViolation' } },
  ])
  expect(await answer(world)).toBe('global')
  world.find({ config: { extensions: { sample: { enabled: false } }, tools: { other: { enabled: false } } } })
  expect((await world.host.reload()).changes).toMatchObject([{ extension: 'sample', result: 'removed' }])
  expect(world.host.tools()).toEqual([])
})

test('two changed extensions with a dependency are tried together', async () => {
  const pair = (number: number, fails = false): readonly ExtensionSketch[] => [
    {
      id: 'base', version: `${number}.0.0`, tools: { base: {} },
      phases: {
        init: () => {
          if (fails) throw new Error('no')
        },
      },
    },
    { id: 'top', version: `${number}.0.0`, dependsOn: ['base'], tools: { top: {} } },
  ]
  const world = createWorld({ extensions: pair(1) })
  const session = await world.host.openSession(yolo)
  await session.call({ id: 'c', name: 'top', arguments: {} })
  world.find({ extensions: pair(2) })
  await world.host.reload()
  expect(world.sandbox.requests.map(({ extension: { id, version } }) => `${id} ${version}`)).toEqual([
    'base 1.0.0', 'top 1.0.0', 'base 2.0.0', 'top 2.0.0',
  ])
  world.find({ extensions: pair(3, true) })
  const { changes } = await world.host.reload()
  expect(changes).toMatchObject([{ extension: 'base', result: 'failed' }, { extension: 'top', result: 'failed' }])
  await flush()
  expect(world.sandbox.alive.map(({ request }) => `${request.extension.id} ${request.extension.version}`)).toEqual([
    'base 2.0.0', 'top 2.0.0',
  ])
})

test('a host that closes during a reload leaves nothing running', async () => {
  const world = createWorld({ extensions: [named('global')], drainMs: 100 })
  await answer(world)
  world.sandbox.beforeOpen = () => new Promise(() => {})
  world.find({ extensions: [named('global', { version: '2.0.0' })] })
  const reloading = world.host.reload()
  reloading.catch(() => {})
  await flush()
  const closing = world.host.close()
  await expect(reloading).rejects.toMatchObject({ code: 'HostClosed' })
  expect(await closing).toMatchObject({ stopped: ['sample'], faults: [] })
  expect(world.sandbox.alive).toEqual([])
  await expect(world.host.reload()).rejects.toMatchObject({ code: 'HostClosed' })
})

test('a changed list of tools emits an event, also if nothing was started', async () => {
  const world = createWorld({ extensions: [{ id: 'one', tools: { first: {} } }] })
  const lists: (readonly string[])[] = []
  world.host.on(() => lists.push(world.host.tools().map(({ name }) => name)), ['ToolsChanged'])
  world.find({ extensions: [{ id: 'one', tools: { first: {} } }, { id: 'two', tools: { second: {} } }] })
  await world.host.reload()
  await world.host.unregister('one')
  expect(lists).toEqual([['first', 'second'], ['second']])
})

test('a report does not affect extensions that an embedder registered', async () => {
  const world = createWorld({ extensions: [] })
  await world.host.register([sketchExtension(named('global')).descriptor])
  await world.host.reload()
  expect(world.host.tools()).toHaveLength(1)
  await world.host.unregister('sample')
  world.find({ extensions: [named('global')] })
  expect((await world.host.reload()).changes).toMatchObject([{ extension: 'sample', result: 'added' }])
  world.find({ extensions: [] })
  expect((await world.host.reload()).changes).toMatchObject([{ extension: 'sample', result: 'removed' }])
})
