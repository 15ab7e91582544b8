import { BulkheadError, type LifecycleState } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { flush, ManualClock } from '../../twin/clock.ts'
import { agreeable, createWorld, verdictOf, type World } from '../../twin/world.ts'

const yolo = { mode: 'yolo' } as const
const echo = { name: 'echo', arguments: {} }
const stateOf = ({ host }: World, name = 'echo') => host.tools().find((tool) => tool.name === name)?.state
const path = ({ eventsOf }: World, id = 'sample'): readonly LifecycleState[] =>
  eventsOf('LifecycleStateChanged').filter(({ extensionId }) => extensionId === id).map(({ to }) => to)

test('the first call starts the extension: init, activate, then the call', async () => {
  const world = createWorld()
  const session = await world.host.openSession(yolo)
  expect(world.sandbox.requests).toEqual([])
  expect(stateOf(world)).toBe('validated')
  expect(verdictOf(await session.call({ id: 'c1', ...echo }))).toBe('output')
  expect(path(world)).toEqual(['initialising', 'loaded', 'activating', 'active'])
  expect(world.compartment().phases).toEqual(['init', 'activate'])
  expect(world.eventsOf('LifecyclePhaseEnd')).toMatchObject([
    { phase: 'init', ok: true }, { phase: 'activate', ok: true },
  ])
})

test('the compartment is opened with the declared tools and their grants', async () => {
  const world = createWorld({
    extensions: [
      {
        id: 'net',
        version: '2.1.0',
        env: ['TOKEN', 'UNSET'],
        configSchema: { type: 'object', additionalProperties: false, properties: { lang: { type: 'string' } } },
        tools: { fetch: { requires: { net: { hosts: ['api.example.com', 'evil.example.com'] } } } },
      },
    ],
    config: {
      policy: { ceiling: { net: { hosts: ['api.example.com'] } } },
      extensions: { net: { isolation: 'thread', config: { lang: 'no' } } },
    },
    env: (name) => ({ TOKEN: 't', SECRET: 's' })[name],
  })
  const session = await world.host.openSession(yolo)
  await session.call({ id: 'c1', name: 'fetch', arguments: {} })
  const [request] = world.sandbox.requests
  expect(request).toMatchObject({
    extension: {
      id: 'net', version: '2.1.0', layer: 'global',
    }, placement: 'thread', config: { lang: 'no' }, code: { kind: 'files', main: 'index.js' },
    tools: [{ name: 'fetch', grant: { net: { hosts: ['api.example.com'] }, shell: [], capabilities: [] } }],
  })
  expect(request?.services.env).toEqual(new Map([['TOKEN', 't']]))
  expect(request?.services.envDeclared).toEqual(new Set(['TOKEN', 'UNSET']))
  expect(request?.services).not.toHaveProperty('interact')
  expect(request?.services).not.toHaveProperty('state')
  expect(request?.services).not.toHaveProperty('callTool')
})

test('concurrent first calls share one start', async () => {
  const world = createWorld()
  const gate = Promise.withResolvers<void>()
  world.sandbox.beforeOpen = () => gate.promise
  const session = await world.host.openSession(yolo)
  const outcomes = Array.from({ length: 20 }, (_, index) => session.call({ id: `c${index}`, ...echo }))
  await flush()
  expect(stateOf(world)).toBe('initialising')
  gate.resolve()
  expect((await Promise.all(outcomes)).map(verdictOf)).toEqual(Array.from({ length: 20 }, () => 'output'))
  expect(world.sandbox.requests).toHaveLength(1)
})

test.each(['init', 'activate'] as const)(
  "a failing %s is the caller's error, and the next call tries again",
  async (phase) => {
    let failures = 1
    const world = createWorld({
      extensions: [
        {
          phases: {
            [phase]: () => {
              if (failures-- > 0) throw new Error('not today')
            },
          },
        },
      ],
    })
    const session = await world.host.openSession(yolo)
    const failed = await session.call({ id: 'c1', ...echo })
    expect(failed).toMatchObject({
      type: 'error', error: { code: 'LifecycleFailure' }, error_text: expect.stringContaining('not today'),
    })
    expect(stateOf(world)).toBe('failed')
    await flush()
    expect(world.sandbox.alive).toEqual([])
    expect(verdictOf(await session.call({ id: 'c2', ...echo }))).toBe('output')
    expect(stateOf(world)).toBe('active')
  },
)

test('a failed start is the error of every call that waited for it', async () => {
  const world = createWorld()
  world.sandbox.beforeOpen = async () => {
    throw new BulkheadError('CompartmentStartFailed', 'SyntaxError in index.js')
  }
  const session = await world.host.openSession(yolo)
  const outcomes = await Promise.all([1, 2, 3].map((index) => session.call({ id: `c${index}`, ...echo })))
  expect(outcomes.map(verdictOf)).toEqual([
    'CompartmentStartFailed', 'CompartmentStartFailed', 'CompartmentStartFailed',
  ])
  expect(world.sandbox.requests).toHaveLength(1)
})

test('bytes that differ from the verified ones never run', async () => {
  const changed = new BulkheadError('IntegrityFailed', 'index.js has changed since it was verified.')
  const world = createWorld({ extensions: [{ readFiles: async () => { throw changed } }] })
  const session = await world.host.openSession(yolo)
  expect(verdictOf(await session.call({ id: 'c1', ...echo }))).toBe('IntegrityFailed')
  expect(world.sandbox.requests).toEqual([])
})

test('a crash settles running calls with its cause, and the next call starts the extension again', async () => {
  const world = createWorld({
    extensions: [
      {
        tools: {
          echo: {
            requires: { fs: { write: ['{workspace}'] } },
            mode: 'safe_write',
            execute: (args) => args['hang'] ? new Promise(() => {}) : 'well',
          },
        },
      },
    ],
  })
  const session = await world.host.openSession(yolo)
  const running = ['a', 'b'].map((id) => session.call({ id, name: 'echo', arguments: { hang: true } }))
  await flush()
  world.compartment().crash(new BulkheadError('CompartmentOutOfMemory', 'It used more than 128 MB.'))
  expect((await Promise.all(running)).map(verdictOf)).toEqual(['CompartmentOutOfMemory', 'CompartmentOutOfMemory'])
  expect(stateOf(world)).toBe('failed')
  expect(world.eventsOf('CompartmentEnded')).toMatchObject([
    { extensionId: 'sample', errorCode: 'CompartmentOutOfMemory' },
  ])
  expect(verdictOf(await session.call({ id: 'c', ...echo }))).toBe('output')
  expect(world.sandbox.requests).toHaveLength(2)
})

const MOMENTS = Array.from({ length: 12 }, (_, index) => index)

test.each(MOMENTS)('a crash %i steps after activation began is detected, and no call is lost', async (steps) => {
  const later = (count: number, run: () => void): void =>
    count === 0 ? run() : queueMicrotask(() => later(count - 1, run))
  let deaths = 1
  const tool = { requires: { net: { hosts: ['example.com'] } }, execute: () => flush().then(() => 'alive') }
  const world = createWorld({
    extensions: [
      {
        tools: { echo: tool },
        phases: {
          activate: () => {
            if (deaths-- > 0) later(steps, () => world.compartment().crash())
          },
        },
      },
    ],
  })
  const session = await world.host.openSession(yolo)
  // A late crash happens before the tool is called, and the call runs in the next compartment.
  expect(['CompartmentCrashed', 'output']).toContain(verdictOf(await session.call({ id: 'c1', ...echo })))
  await flush()
  expect(stateOf(world)).toBe(world.sandbox.alive.length === 1 ? 'active' : 'failed')
  expect(verdictOf(await session.call({ id: 'c2', ...echo }))).toBe('output')
  expect(world.sandbox.requests).toHaveLength(2)
})

test('NoPlaceFree does not count as a crash, and the next call starts the extension', async () => {
  const world = createWorld()
  let full = 10
  world.sandbox.beforeOpen = () => { if (full-- > 0) throw new BulkheadError('NoPlaceFree', 'All 8 are taken.') }
  const session = await world.host.openSession(yolo)
  for (let turn = 0; turn < 10; turn++)
    expect(verdictOf(await session.call({ id: `c${turn}`, ...echo }))).toBe('NoPlaceFree')
  expect(verdictOf(await session.call({ id: 'c', ...echo }))).toBe('output')
})

test('an extension that keeps crashing is quarantined, longer each time', async () => {
  const clock = new ManualClock()
  const world = createWorld({
    clock,
    extensions: [
      {
        tools: {
          echo: {
            requires: { net: { hosts: ['example.com'] } },
            execute: () => { world.compartment().crash(); return new Promise(() => {}) },
          },
        },
      },
    ],
  })
  const session = await world.host.openSession(yolo)
  const verdict = async () => verdictOf(await session.call({ id: 'c', ...echo }))
  for (let death = 1; death <= 4; death++) expect(await verdict()).toBe('CompartmentCrashed')
  expect(await verdict()).toBe('CompartmentQuarantined')
  expect(await session.call({ id: 'c', ...echo })).toMatchObject({
    error: {
      code: 'CompartmentQuarantined',
      retryable: true,
      data: { extension: 'sample', retryAfterMs: 1_000, until: '2026-01-01T00:00:01.000Z' },
    },
    error_text: expect.stringContaining('until 2026-01-01T00:00:01.000Z'),
  })
  await clock.advance(999)
  expect(await verdict()).toBe('CompartmentQuarantined')
  await clock.advance(1)
  expect(await verdict()).toBe('CompartmentCrashed')
  await clock.advance(4_999)
  expect(await verdict()).toBe('CompartmentQuarantined')
  await clock.advance(120_000)
  expect(await verdict()).toBe('CompartmentCrashed')
  expect(world.sandbox.requests).toHaveLength(6)
})

test('dependencies start before the dependent, once', async () => {
  const world = createWorld({
    extensions: [{ id: 'top', dependsOn: ['base'], tools: { echo: {} } }, { id: 'base', tools: { other: {} } }],
  })
  const session = await world.host.openSession(yolo)
  await session.call({ id: 'c1', ...echo })
  await session.call({ id: 'c2', name: 'other', arguments: {} })
  expect(world.sandbox.requests.map(({ extension }) => extension.id)).toEqual(['base', 'top'])
})

test('a failed dependency is the caller\'s error, and leaves the dependent unchanged', async () => {
  const world = createWorld({
    extensions: [
      { id: 'top', dependsOn: ['base'] },
      { id: 'base', tools: { other: {} }, phases: { init: () => { throw new Error('no base') } } },
    ],
  })
  const session = await world.host.openSession(yolo)
  expect(await session.call({ id: 'c1', ...echo })).toMatchObject({
    error: { code: 'LifecycleFailure' }, error_text: expect.stringContaining('no base'),
  })
  expect(stateOf(world)).toBe('validated')
})

test('an eager extension starts without a call, and its failure fails no call', async () => {
  const eager = { extensions: { sample: { activation: 'eager' } } } as const
  const world = createWorld({ config: eager })
  await flush()
  expect(stateOf(world)).toBe('active')
  const failing = createWorld({ config: eager, extensions: [{ phases: { init: () => { throw new Error('no') } } }] })
  await flush()
  expect(stateOf(failing)).toBe('failed')
})

test('a call that is cancelled during the start settles at once; the start continues for others', async () => {
  const world = createWorld()
  const gate = Promise.withResolvers<void>()
  world.sandbox.beforeOpen = () => gate.promise
  const session = await world.host.openSession(agreeable)
  const cancel = new AbortController()
  const cancelled = session.call({ id: 'a', ...echo }, { signal: cancel.signal })
  const other = session.call({ id: 'b', ...echo })
  await flush()
  cancel.abort()
  expect(verdictOf(await cancelled)).toBe('ToolCancelled')
  gate.resolve()
  expect(verdictOf(await other)).toBe('output')
})

test('a call waits while a cancelled one still runs, and is not lost if that ends the compartment', async () => {
  const world = createWorld()
  const session = await world.host.openSession(yolo)
  await session.call({ id: 'c1', ...echo })
  const first = world.compartment()
  const quiet = Promise.withResolvers<void>()
  first.quiet = quiet.promise
  const waiting = session.call({ id: 'c2', ...echo })
  await flush()
  expect(first.calls).toHaveLength(1)
  first.crash()
  first.quiet = undefined
  quiet.resolve()
  expect(verdictOf(await waiting)).toBe('output')
  expect(world.sandbox.requests).toHaveLength(2)
})
