import { BulkheadError, type Interactor } from '@bulkhead/contract'
import { ToolError } from '@bulkhead/contract/author'
import { expect, test } from 'vitest'
import { flush, ManualClock } from '../twin/clock.ts'
import { createWorld, verdictOf, type ToolSketch, type TwinRuntime, type WorldSketch } from '../twin/world.ts'

const ACTS: ToolSketch = { requires: { net: { hosts: ['example.com'] } } }
const fail = () => { throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }) }
const busy = () => { throw Object.assign(new Error('busy'), { code: 'ResourceBusy' }) }
const report = () => { throw new ToolError('ToolExecutionFailed', 'wrong') }
const hang = () => new Promise(() => {})

async function prepared(tool: ToolSketch, sketch: WorldSketch = {}) {
  const clock = new ManualClock()
  const world = createWorld({ clock, extensions: [{ tools: { echo: tool } }], ...sketch })
  const session = await world.host.openSession({ mode: 'yolo' })
  const call = (options = {}) => session.call({ id: 'c1', name: 'echo', arguments: {} }, options)
  return { clock, world, session, call }
}

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

test.each<[string, ToolSketch, string, number]>([
  ['a busy resource, whatever the tool', { ...ACTS, execute: busy }, 'MaxRetriesExceeded', 3],
  [
    'a busy resource that is returned',
    {
      ...ACTS,
      execute: () => ({
        ok: false, error: { class: 'ToolTransient', code: 'ResourceBusy', context: { message: 'busy' } },
      }),
    },
    'MaxRetriesExceeded',
    3,
  ],
  ['a deadline of a tool that acts', { ...ACTS, timeoutMs: 10, execute: hang }, 'ExecutionTimeout', 1],
  [
    'a deadline of an idempotent tool', { ...ACTS, idempotent: true, timeoutMs: 10, execute: hang }, 'ExecutionTimeout',
    1,
  ],
  ['a deadline of a tool that reads', { timeoutMs: 10, execute: hang }, 'ExecutionTimeout', 1],
  ['an exception of an idempotent tool', { ...ACTS, idempotent: true, execute: fail }, 'ToolExecutionFailed', 3],
  ['an exception of a tool that reads', { mode: 'read', execute: fail }, 'ToolExecutionFailed', 3],
  ['an exception of a tool that acts', { ...ACTS, execute: fail }, 'ToolExecutionFailed', 1],
  ['a failure that the tool reports', { idempotent: true, execute: report }, 'ToolExecutionFailed', 1],
  [
    'something that is not there',
    {
      idempotent: true,
      execute: () => {
        throw Object.assign(new Error('gone'), { code: 'NotFound' })
      },
    },
    'NotFound',
    1,
  ],
])('attempts after %s', async (_, tool, code, attempts) => {
  const { clock, world, call } = await prepared(tool)
  const outcome = call()
  await clock.advance(60_000)
  expect(await outcome).toMatchObject({ error: { code }, metadata: { attempt: attempts } })
  expect(world.eventsOf('ToolInvocationStarted').map(({ attempt }) => attempt)).toEqual(
    Array.from({ length: attempts }, (__, index) => index + 1),
  )
  expect(world.eventsOf('ToolInvocationFailed')).toHaveLength(1)
  const ids = world.compartment().calls.map(({ callId }) => callId)
  expect(new Set(ids).size).toBe(attempts)
})

test('all attempts share the time of the call, and none starts after it', async () => {
  const { clock, call } = await prepared({
    ...ACTS, execute: () => { throw Object.assign(new Error('busy'), { code: 'ResourceBusy' }) },
  })
  expect(await call({ timeoutMs: 1_000 })).toMatchObject({
    error: { code: 'ResourceBusy' }, metadata: { attempt: 1, duration_ms: 0 },
  })
  const second = call({ timeoutMs: 3_000 })
  await clock.advance(2_000)
  expect(await second).toMatchObject({ error: { code: 'ResourceBusy' }, metadata: { attempt: 2 } })
})

test('a later attempt has the remaining time', async () => {
  let waits = 1
  const { clock, call } = await prepared({
    ...ACTS,
    execute: () => {
      if (waits-- > 0) throw Object.assign(new Error('busy'), { code: 'ResourceBusy' })
      return hang()
    },
  })
  const outcome = call({ timeoutMs: 5_000 })
  await clock.advance(4_999)
  let settled = false
  void outcome.then(() => { settled = true })
  await flush()
  expect(settled).toBe(false)
  await clock.advance(1)
  expect(await outcome).toMatchObject({
    error: { code: 'ExecutionTimeout', data: { timeoutMs: 5_000 } }, metadata: { attempt: 2, duration_ms: 5_000 },
  })
})

test('the time that a person takes does not count for later attempts', async () => {
  let asked = false
  const { clock, world } = await prepared({
    ...ACTS, requires: { ...ACTS.requires, capabilities: ['interact'] },
    execute: async (_: unknown, { services, callId, signal }: TwinRuntime) => {
      if (asked) return 'done'
      asked = true
      await services.interact!(callId, { kind: 'Confirm', prompt: 'Really?' }, signal)
      throw Object.assign(new Error('busy'), { code: 'ResourceBusy' })
    },
  })
  const slow: Interactor = {
    interact: async () => {
      await clock.advance(600_000)
      return { status: 'accepted', value: true }
    },
  }
  const session = await world.host.openSession({ mode: 'yolo', interactor: slow })
  const outcome = session.call({ id: 'c1', name: 'echo', arguments: {} }, { timeoutMs: 5_000 })
  for (let second = 0; second < 4; second++) await clock.advance(1_000)
  expect(await outcome).toMatchObject({ data: 'done', metadata: { attempt: 2 } })
})

test('after a crash an idempotent call is retried in a new compartment', async () => {
  let crashes = 1
  const { clock, world, call } = await prepared({
    idempotent: true,
    execute: () => {
      if (crashes-- > 0) {
        world.compartment().crash()
        return hang()
      }
      return 'recovered'
    },
  })
  const outcome = call()
  await clock.advance(1_499)
  expect(world.sandbox.requests).toHaveLength(1)
  await clock.advance(501)
  expect(await outcome).toMatchObject({ type: 'output', data: 'recovered', metadata: { attempt: 2 } })
  expect(world.sandbox.requests).toHaveLength(2)
})

test('a call that crashes at every attempt is reported as a crash', async () => {
  const { clock, world, call } = await prepared({
    idempotent: true,
    execute: () => {
      world.compartment().crash()
      return hang()
    },
  })
  const outcome = call()
  await clock.advance(60_000)
  expect(await outcome).toMatchObject({ error: { code: 'CompartmentCrashed' }, metadata: { attempt: 3 } })
  expect(world.sandbox.requests).toHaveLength(3)
})

test('after a crash a tool that only claims to read is not retried', async () => {
  const { clock, world, call } = await prepared({ execute: () => { world.compartment().crash(); return hang() } })
  const outcome = call()
  await clock.advance(60_000)
  expect(await outcome).toMatchObject({ error: { code: 'CompartmentCrashed' }, metadata: { attempt: 1 } })
  expect(world.sandbox.requests).toHaveLength(1)
})

test('a failed start is not retried by the same call', async () => {
  const { world, call } = await prepared({ gated: false, idempotent: true })
  world.sandbox.beforeOpen = () => { throw new BulkheadError('CompartmentStartFailed', 'SyntaxError') }
  expect(await call()).toMatchObject({ error: { code: 'CompartmentStartFailed' }, metadata: { attempt: 1 } })
  expect(world.sandbox.requests).toHaveLength(1)
})

test('a call that is cancelled between two attempts ends', async () => {
  const { clock, world, call } = await prepared({
    execute: () => { throw Object.assign(new Error('busy'), { code: 'ResourceBusy' }) },
  })
  const cancel = new AbortController()
  const outcome = call({ signal: cancel.signal })
  await clock.advance(100)
  cancel.abort()
  expect(await outcome).toMatchObject({ error: { code: 'ToolCancelled' }, metadata: { attempt: 1 } })
  expect(clock.pending).toBe(0)
  expect(world.eventsOf('ToolInvocationCancelled')).toHaveLength(1)
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
