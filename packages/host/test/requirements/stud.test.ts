import { BulkheadError, type LifecyclePhase } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { flush } from '../twin/clock.ts'
import { createWorld, sketchExtension, verdictOf, type ExtensionSketch } from '../twin/world.ts'

const yolo = { mode: 'yolo' } as const
const echo = { id: 'c', name: 'echo', arguments: {} }

describe('stud: lifecycle of a tool', () => {
  test('init gets the configuration of its own extension only', async () => {
    const seen: unknown[] = []
    const world = createWorld({
      extensions: [{
        configSchema: { type: 'object', additionalProperties: false, properties: { lang: { type: 'string' } } },
        phases: { init: ({ config }) => { seen.push(config) } },
      }],
      config: { extensions: { sample: { config: { lang: 'no' } }, other: { config: { secret: 1 } } } },
    })
    await (await world.host.openSession(yolo)).call(echo)
    expect(seen).toEqual([{ lang: 'no' }])
  })

  test('a configuration that violates its schema never reaches it', () => {
    const world = createWorld({ config: { extensions: { sample: { config: { stray: 1 } } } } })
    expect(world.host.tools()).toEqual([])
    expect(world.host.diagnostics).toMatchObject([{ code: 'ConfigSchemaViolation', extensionId: 'sample' }])
  })

  test('phases run in order, each with a start event, an end event and a duration', async () => {
    const phases: LifecyclePhase[] = []
    const ran = (phase: LifecyclePhase) => () => { phases.push(phase) }
    const world = createWorld({
      extensions: [
        {
          phases: {
            init: ran('init'), activate: ran('activate'), deactivate: ran('deactivate'), dispose: ran('dispose'),
          },
        },
      ],
    })
    await (await world.host.openSession(yolo)).call(echo)
    await world.host.close()
    expect(phases).toEqual(['init', 'activate', 'deactivate', 'dispose'])
    expect(world.eventsOf('LifecyclePhaseStart').map(({ phase }) => phase)).toEqual(phases)
    expect(
      world.eventsOf('LifecyclePhaseEnd').map(({ phase, ok, durationMs }) => [phase, ok, durationMs >= 0]),
    ).toEqual(phases.map((phase) => [phase, true, true]))
  })

  test('a missing phase is a no-op', async () => {
    const world = createWorld({ extensions: [{ phases: {} }] })
    expect(verdictOf(await (await world.host.openSession(yolo)).call(echo))).toBe('output')
    expect(await world.host.close()).toMatchObject({ stopped: ['sample'], faults: [] })
  })

  test('names and schemas are registered together or not at all', () => {
    const world = createWorld({
      extensions: [{ tools: { fine: {}, broken: { inputSchema: { type: 'object', required: {} } } } }],
    })
    expect(world.host.tools()).toEqual([])
    expect(world.host.diagnostics).toMatchObject([{ stage: 'register', path: '/tools/1/inputSchema' }])
  })

  test('deactivate runs after the last running call, and new calls are rejected meanwhile', async () => {
    const log: string[] = []
    const gate = Promise.withResolvers<void>()
    const world = createWorld({
      extensions: [{
        phases: { deactivate: () => { log.push('deactivate') } },
        tools: { echo: { execute: () => gate.promise.then(() => { log.push('call ended') }) } },
      }],
    })
    const session = await world.host.openSession(yolo)
    const inFlight = session.call(echo)
    await flush()
    expect(await world.host.unregister('sample')).toBe(true)
    expect(verdictOf(await session.call({ ...echo, id: 'd' }))).toBe('ToolNotRegistered')
    gate.resolve()
    expect(verdictOf(await inFlight)).toBe('output')
    await flush()
    expect(log).toEqual(['call ended', 'deactivate'])
  })

  test('dispose runs once', async () => {
    const world = createWorld()
    await (await world.host.openSession(yolo)).call(echo)
    await Promise.all([world.host.unregister('sample'), world.host.clear(), world.host.close(), world.host.close()])
    await flush()
    expect(world.compartment().phases.filter((phase) => phase === 'dispose')).toEqual(['dispose'])
    expect(world.eventsOf('LifecycleStateChanged').filter(({ to }) => to === 'disposed')).toHaveLength(1)
  })

  test.each(['init', 'activate'] as const)('a failing %s leaves no partial state, and is reported', async (phase) => {
    const world = createWorld({ extensions: [{ phases: { [phase]: () => { throw new Error('not today') } } }] })
    const session = await world.host.openSession(yolo)
    expect(await session.call(echo)).toMatchObject({ error: { code: 'LifecycleFailure', class: 'ExtensionHost' } })
    expect(world.sandbox.alive).toEqual([])
    expect(world.host.extensions()).toMatchObject([
      { state: 'failed', fault: { message: `The phase ${phase} of "sample" failed: not today` } },
    ])
    expect(world.host.tools().map(({ name }) => name)).toEqual(['echo'])
  })

  test('any number may be loaded and active', async () => {
    const extensions = Array.from({ length: 100 }, (_, index): ExtensionSketch => ({
      id: `e${index}`, tools: { [`t${index}`]: {} },
    }))
    const world = createWorld({ extensions })
    const session = await world.host.openSession(yolo)
    const outcomes = await Promise.all(
      extensions.map((_, index) => session.call({ id: `c${index}`, name: `t${index}`, arguments: {} })),
    )
    expect(outcomes.every(({ type }) => type === 'output')).toBe(true)
    expect(world.host.extensions().every(({ state }) => state === 'active')).toBe(true)
  })
})

describe('stud: dependencies', () => {
  const pair: readonly ExtensionSketch[] = [
    { id: 'top', dependsOn: ['base'], tools: { echo: {} } }, { id: 'base', tools: { base: {} } },
  ]

  test('start before their dependents, and stop after them', async () => {
    const world = createWorld({ extensions: pair })
    await (await world.host.openSession(yolo)).call(echo)
    const started = world
      .eventsOf('LifecycleStateChanged')
      .filter(({ to }) => to === 'active')
      .map(({ extensionId }) => extensionId)
    expect(started).toEqual(['base', 'top'])
    expect((await world.host.close()).stopped).toEqual(['top', 'base'])
  })

  test('a missing dependency and a cycle are errors', () => {
    const codes = (extensions: readonly ExtensionSketch[]) =>
      createWorld({ extensions }).host.diagnostics.map(({ code }) => code)
    expect(codes([pair[0]!])).toEqual(['DependencyMissing'])
    expect(codes([pair[0]!, { ...pair[1]!, dependsOn: ['top'] }])).toEqual(['DependencyCycle', 'DependencyCycle'])
  })
})

describe('stud: names, layers and failures', () => {
  test('names are flat, a later layer overrides, and every call is reported with its layer', async () => {
    const world = createWorld({ extensions: [{ id: 'a', layer: 'bundled' }, { id: 'b', layer: 'project' }] })
    const session = await world.host.openSession(yolo)
    await session.call(echo)
    expect(world.host.tool('echo')).toMatchObject({
      layer: 'project', extension: 'b', shadows: [{ layer: 'bundled', extension: 'a' }],
    })
    expect(world.eventsOf('ToolInvocationSucceeded')).toMatchObject([
      { tool: 'echo', origin: { layer: 'project', extension: 'b' } },
    ])
  })

  test('a failed extension is left out, and the session continues', async () => {
    const world = createWorld({ extensions: [{ id: 'ill', dependsOn: ['gone'], tools: { ill: {} } }, { id: 'well' }] })
    const session = await world.host.openSession(yolo)
    expect(session.tools().map(({ name }) => name)).toEqual(['echo'])
    expect(verdictOf(await session.call(echo))).toBe('output')
    expect(world.host.diagnostics).toMatchObject([{ extensionId: 'ill', stage: 'register', code: 'DependencyMissing' }])
  })

  test('a failing override of a project falls back to the layer below, and names it', () => {
    const world = createWorld({
      extensions: [{ version: '1.0.0' }, { layer: 'project', version: '2.0.0', dependsOn: ['gone'] }],
    })
    expect(world.host.tool('echo')).toMatchObject({ layer: 'global', version: '1.0.0' })
    expect(world.host.diagnostics).toMatchObject([{ layer: 'project', fallbackTo: 'global' }])
  })

  test('enabled: false removes a tool from the session', async () => {
    const world = createWorld({ config: { tools: { echo: { enabled: false } } } })
    const session = await world.host.openSession(yolo)
    expect(session.tools()).toEqual([])
    expect(verdictOf(await session.call(echo))).toBe('ToolsDisabled')
  })
})

describe('stud: reload', () => {
  const version = (number: number, more: ExtensionSketch = {}): ExtensionSketch => ({
    version: `${number}.0.0`, ...more,
  })

  test('is deferred while a turn is active, until it has ended or was cancelled', async () => {
    const world = createWorld({ extensions: [version(1)] })
    const session = await world.host.openSession(yolo)
    const answering = async () => (await session.call(echo)).metadata.origin?.version
    for (const end of ['endTurn', 'cancel'] as const) {
      const turn = session.beginTurn()
      const before = await answering()
      world.find({ extensions: [version(Number(before?.slice(0, 1)) + 1)] })
      await world.host.reload()
      expect(await answering()).toBe(before)
      if (end === 'cancel') turn.cancel()
      await session.endTurn()
      expect(await answering()).not.toBe(before)
    }
  })

  test('affects its target only', async () => {
    const world = createWorld({ extensions: [version(1), { id: 'other', tools: { other: {} } }] })
    const session = await world.host.openSession(yolo)
    await session.call(echo)
    await session.call({ ...echo, name: 'other' })
    await world.host.reload({ extensions: ['sample'] })
    expect(world.host.extensions().find(({ id }) => id === 'other')).toMatchObject({ generation: 2, state: 'active' })
  })

  test('of "never" is refused, of an unknown extension is an error, and a failed one keeps the old tool', async () => {
    const world = createWorld({
      extensions: [version(1, { reloadBehavior: 'never' }), { id: 'frail', version: '1.0.0', tools: { frail: {} } }],
    })
    const session = await world.host.openSession(yolo)
    await session.call(echo)
    await session.call({ ...echo, name: 'frail' })
    const failing = { init: () => { throw new BulkheadError('LifecycleFailure', 'no') } }
    world.find({
      extensions: [
        version(2, { reloadBehavior: 'never' }),
        { id: 'frail', version: '2.0.0', tools: { frail: {} }, phases: failing },
      ],
    })
    const { changes } = await world.host.reload()
    expect(changes.map(({ extension, result, error }) => [extension, result, error?.code])).toEqual([
      ['sample', 'refused', 'ReloadRefused'], ['frail', 'failed', 'LifecycleFailure'],
    ])
    expect(verdictOf(await session.call({ ...echo, name: 'frail' }))).toBe('output')
    await expect(world.host.reload({ extensions: ['nobody'] })).rejects.toMatchObject({
      code: 'ExtensionNotFound', class: 'Validation',
    })
  })

  test('an approval ends when the bytes of its tool change', async () => {
    let asked = 0
    const world = createWorld({ extensions: [version(1)] })
    const session = await world.host.openSession({
      approver: {
        approve: async () => {
          asked++
          return { decision: 'session' }
        },
      },
    })
    await session.call(echo)
    await session.call(echo)
    expect(asked).toBe(1)
    world.find({ extensions: [version(1, { bytes: 'others' })] })
    await world.host.reload()
    await session.call(echo)
    expect(asked).toBe(2)
  })
})

test('stud: the order of registration by an embedder does not matter', async () => {
  const sketches = ['c', 'a', 'b'].map((id) => sketchExtension({ id, tools: { [`t${id}`]: {} } }).descriptor)
  const world = createWorld({ extensions: [] })
  await world.host.register(sketches)
  expect(world.host.tools().map(({ name }) => name)).toEqual(['ta', 'tb', 'tc'])
})
