import { BulkheadError } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { flush, ManualClock } from '../twin/clock.ts'
import { createWorld, verdictOf, type ToolSketch, type WorldSketch } from '../twin/world.ts'
import { ACTS, hang, prepared } from './failing-tools.ts'

test.each<[string, ToolSketch, WorldSketch, { timeoutMs?: number }, number]>([
  ['the call', { timeoutMs: 200 }, { config: { tools: { echo: { timeoutMs: 100 } } } }, { timeoutMs: 50 }, 50],
  ['the configuration', { timeoutMs: 200 }, { config: { tools: { echo: { timeoutMs: 100 } } } }, {}, 100],
  ['the manifest', { timeoutMs: 200 }, {}, {}, 200],
  ['the host', {}, {}, {}, 30_000],
])('the deadline is that of %s', async (_, tool, sketch, options, ms) => {
  const { clock, call } = await prepared({ ...ACTS, ...tool, execute: hang }, sketch)
  let settled = false
  const outcome = call(options).finally(() => { settled = true })
  await clock.advance(ms - 1)
  expect(settled).toBe(false)
  await clock.advance(1)
  expect(await outcome).toMatchObject({
    error: { code: 'ExecutionTimeout', data: { timeoutMs: ms } }, metadata: { duration_ms: ms, attempt: 1 },
  })
  expect(clock.pending).toBe(0)
})

test('the default deadline is longer for bash and shorter for web_search', async () => {
  const clock = new ManualClock()
  const { host } = createWorld({
    clock,
    extensions: [
      {
        layer: 'bundled',
        tools: {
          bash: { execute: hang }, web_search: { execute: hang, requires: { net: { hosts: ['*.example.com'] } } },
        },
      },
    ],
  })
  const session = await host.openSession({ mode: 'yolo' })
  const outcomes = ['bash', 'web_search'].map((name) => session.call({ id: name, name, arguments: {} }))
  await clock.advance(130_000)
  expect(await Promise.all(outcomes)).toMatchObject([
    { error: { data: { timeoutMs: 120_000 } } }, { error: { data: { timeoutMs: 15_000 } } },
  ])
})

test('the signal of a tool is aborted with the reason', async () => {
  const reasons: unknown[] = []
  const { clock, call } = await prepared({
    ...ACTS,
    timeoutMs: 10,
    execute: (_, { signal }) => { signal.addEventListener('abort', () => reasons.push(signal.reason)); return hang() },
  })
  const late = call()
  await clock.advance(10)
  await late
  const cancel = new AbortController()
  const stopped = call({ signal: cancel.signal })
  await flush()
  cancel.abort(new Error('changed my mind'))
  expect(await stopped).toMatchObject({ error: { code: 'ToolCancelled' }, completion: { terminal: true } })
  expect(reasons.map((reason) => (reason as BulkheadError).code)).toEqual(['ExecutionTimeout', 'ToolCancelled'])
})

test('a call that has ended is not cancelled with those it was made with', async () => {
  const aborted: string[] = []
  const { session } = await prepared({
    ...ACTS,
    execute: (_, { signal, callId }) => {
      signal.addEventListener('abort', () => aborted.push(callId))
      return callId === 'a' ? 'done' : hang()
    },
  })
  const cancel = new AbortController()
  const calls = ['a', 'b'].map((id) => ({ id, name: 'echo', arguments: {} }))
  const outcomes = session.callAll(calls, { strategy: 'parallel', signal: cancel.signal })
  await flush()
  cancel.abort()
  expect((await outcomes).map(verdictOf)).toEqual(['output', 'ToolCancelled'])
  expect(aborted).toEqual(['b'])
})

test('a call that is cancelled before it starts never runs', async () => {
  const { world, call } = await prepared({})
  expect(verdictOf(await call({ signal: AbortSignal.abort() }))).toBe('ToolCancelled')
  expect(world.sandbox.requests).toEqual([])
})

const CLAIMS = ['SessionCancelled', 'ToolCancelled', 'HostClosed'] as const

test.each(CLAIMS)('a tool that claims %s has only failed', async (code) => {
  const { call } = await prepared({ ...ACTS, execute: () => { throw new BulkheadError(code, 'it is all over') } })
  expect(await call()).toMatchObject({
    error: { code: 'ToolExecutionFailed' }, error_text: 'it is all over', completion: { needsFollowup: true },
  })
})

test('one id in two sessions means two calls', async () => {
  const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const { world, session } = await prepared({ execute: (args) => gates[args['gate'] as number]!.promise })
  const other = await world.host.openSession({ mode: 'yolo' })
  const outcomes = [
    session.call({ id: 'same', name: 'echo', arguments: { gate: 0 } }),
    other.call({ id: 'same', name: 'echo', arguments: { gate: 1 } }),
  ]
  await flush()
  gates[1]!.resolve('second')
  gates[0]!.resolve('first')
  expect(await Promise.all(outcomes)).toMatchObject([
    { data: 'first', metadata: { call_id: 'same' } }, { data: 'second', metadata: { call_id: 'same' } },
  ])
  expect(new Set(world.compartment().calls.map(({ callId }) => callId)).size).toBe(2)
})

test('progress and updates are reported while it runs', async () => {
  const { world, call } = await prepared({
    execute: (_, runtime) => { runtime.progress('half'); runtime.update({ done: 0.5 }); return 'done' },
  })
  await call()
  expect(world.eventsOf('ToolInvocationProgress')).toMatchObject([{ callId: 'c1', tool: 'echo', text: 'half' }])
  expect(world.eventsOf('ToolInvocationUpdated')).toMatchObject([{ callId: 'c1', partial: { done: 0.5 } }])
})

test('a compartment that throws fails the call, and leaves nothing running', async () => {
  const clock = new ManualClock()
  const world = createWorld({ clock })
  const session = await world.host.openSession({ mode: 'yolo' })
  await session.call({ id: 'a', name: 'echo', arguments: {} })
  world.compartment().call = () => { throw new Error('not today') }
  expect(await session.call({ id: 'b', name: 'echo', arguments: {} })).toMatchObject({
    error: { code: 'InternalError' },
  })
  const { faults } = await world.host.close()
  expect(faults).toEqual([])
  expect(clock.pending).toBe(0)
})

test('a clock that throws fails one call, and none that are sent with it', async () => {
  const clock = new ManualClock()
  const timeoutMs = 12_345
  const { world, session } = await prepared({ timeoutMs, execute: ({ n }) => n }, { clock })
  const call = (n: number) => session.call({ id: `c${n}`, name: 'echo', arguments: { n } })
  expect(verdictOf(await call(0))).toBe('output')
  const after = clock.after.bind(clock)
  let deadlines = 0
  clock.after = (ms, run) => {
    if (ms === timeoutMs && ++deadlines === 2) throw new Error('no more timers')
    return after(ms, run)
  }
  expect((await Promise.all([1, 2, 3].map(call))).map(verdictOf)).toEqual(['output', 'InternalError', 'output'])
  expect(world.eventsOf('ToolInvocationFailed')).toMatchObject([
    { callId: 'c2', message: expect.stringContaining('no more timers') },
  ])
  clock.after = after
  expect(await world.host.close()).toMatchObject({ faults: [] })
})
