import type { Outcome } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { expect, test } from 'vitest'
import { flush, ManualClock } from '../twin/clock.ts'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld, verdictOf, type ToolSketch, type TwinRuntime } from '../twin/world.ts'

const POWERS = { fs: { read: ['{workspace}'] }, capabilities: ['tools.call'] } as const
const calls = (name: string, args: Json = {}) => (_: unknown, {
  services, callId, signal,
}: TwinRuntime) => services.callTool!(callId, name, args, signal)
const caller = (execute: ToolSketch['execute'] & {}, more: ToolSketch = {}): ToolSketch => ({
  mode: 'read', requires: { fs: { read: [...POWERS.fs.read] }, capabilities: [...POWERS.capabilities] }, execute,
  ...more,
})

async function run(tools: Readonly<Record<string, ToolSketch>>, name = 'outer') {
  const world = createWorld({
    extensions: [
      { id: 'outer', tools: { outer: tools['outer']! } }, { id: 'inner', tools: { inner: tools['inner'] ?? {} } },
    ],
  })
  const session = await world.host.openSession({ mode: 'yolo' })
  return { world, outcome: await session.call({ id: 'c1', name, arguments: {} }) }
}

test('a nested call runs through the same pipeline', async () => {
  const { world, outcome } = await run({ outer: caller(calls('inner', { a: 1 })) })
  expect(outcome).toMatchObject({ type: 'output', data: { a: 1 }, metadata: { call_id: 'c1', tool: 'outer' } })
  expect(
    world.eventsOf('ToolInvocationSucceeded').map(({ callId, tool }) => `${callId} ${tool}`),
  ).toEqual(['c1.1 inner', 'c1 outer'])
})

test('its result is not truncated or saved, and is rejected above outputBytes', async () => {
  const saved: string[] = []
  const sidecar = { save: async (_session: string, callId: string) => `/${saved.push(callId)}` }
  const read = async (length: number): Promise<Outcome> => {
    let inner: Outcome | undefined
    const world = createWorld({
      sidecar, config: { limits: { outputBytes: 100_000 } },
      extensions: [
        {
          id: 'outer',
          tools: {
            outer: caller(async (_, { services, callId, signal }) => {
              inner = await services.callTool!(callId, 'inner', {}, signal)
              return 'done'
            }),
          },
        },
        { id: 'inner', tools: { inner: { maxOutput: '1KB', execute: () => 'x'.repeat(length) } } },
      ],
    })
    const session = await world.host.openSession({ mode: 'yolo' })
    await session.call({ id: 'c1', name: 'outer', arguments: {} })
    return inner!
  }
  const whole = await read(50_000)
  expect(whole).toMatchObject({ type: 'output', data: 'x'.repeat(50_000) })
  expect(whole.metadata).not.toHaveProperty('truncated')
  expect(await read(100_001)).toMatchObject({
    type: 'error', error: { code: 'OutputTooLarge', data: { limit: 'outputBytes' } },
  })
  expect(saved).toEqual([])
})

test('a nested call gives the caller no power', async () => {
  const { world, outcome } = await run({
    outer: caller(calls('inner')), inner: { requires: { fs: { read: ['{workspace}'], write: ['{workspace}'] } } },
  })
  expect(outcome).toMatchObject({
    error_text: 'The call of "inner" was refused: "outer", which calls it, may not write /work space. '
      + 'Declare it in `requires` of "outer", or call a tool that can do less.',
  })
  expect(world.eventsOf('ToolInvocationCancelled')).toMatchObject([{ tool: 'inner', errorCode: 'CapabilityDenied' }])
})

test('recursion is limited', async () => {
  const { world, outcome } = await run({ outer: caller(calls('outer')) })
  expect(outcome).toMatchObject({
    error_text: 'The call of "outer" was refused: tools call each other 5 deep at most, and "outer", which calls it, '
      + 'is that deep. '
      + 'Do the rest in the tool itself, or hand it back for the model to call.',
  })
  expect(world.eventsOf('ToolInvocationCancelled')).toMatchObject([
    { callId: 'c1.1.2.3.4.5.6', errorCode: 'CapabilityDenied' },
  ])
  expect(world.eventsOf('ToolInvocationStarted')).toHaveLength(6)
})

test('nested calls need the capability, and are rejected outside of a call', async () => {
  const { world } = await run({ outer: {} })
  expect(world.compartment('outer').request.services).not.toHaveProperty('callTool')
  const other = await run({ outer: caller(() => 1) })
  await expect(
    other.world.compartment('outer').request.services.callTool!('nobody', 'inner', {}, new AbortController().signal),
  ).rejects.toMatchObject({
    code: 'CapabilityDenied', message: expect.stringContaining('Await it before the call ends.'),
  })
})

test('the inner call ends with the outer call', async () => {
  const world = createWorld({
    extensions: [
      { id: 'outer', tools: { outer: caller(calls('inner')) } },
      { id: 'inner', tools: { inner: { execute: () => new Promise(() => {}) } } },
    ],
  })
  const session = await world.host.openSession({ mode: 'yolo' })
  const cancel = new AbortController()
  const outcome = session.call({ id: 'c1', name: 'outer', arguments: {} }, { signal: cancel.signal })
  await flush()
  cancel.abort()
  expect(verdictOf(await outcome)).toBe('ToolCancelled')
  await flush()
  expect(world.eventsOf('ToolInvocationCancelled').map(({ tool }) => tool).toSorted()).toEqual(['inner', 'outer'])
  expect(world.compartment('inner').inFlight).toBe(0)
})

test('the caller may cancel the inner call and continue', async () => {
  const outer = caller(async (_, { services, callId }: TwinRuntime) => {
    const giveUp = new AbortController()
    const inner = services.callTool!(callId, 'inner', {}, giveUp.signal)
    await flush()
    giveUp.abort()
    return verdictOf(await inner as never)
  })
  const { world, outcome } = await run({ outer, inner: { execute: () => new Promise(() => {}) } })
  expect(outcome).toMatchObject({ data: 'ToolCancelled' })
  expect(world.compartment('inner').inFlight).toBe(0)
})

test('an inner call that is not awaited ends with the outer call', async () => {
  const outer = caller(async (_, { services, callId }: TwinRuntime) => {
    void services.callTool!(callId, 'inner', {}, new AbortController().signal)
    await flush()
    return await new Promise(() => {})
  })
  const world = createWorld({
    extensions: [
      { id: 'outer', tools: { outer } },
      { id: 'inner', tools: { inner: { execute: () => new Promise(() => {}) } } },
    ],
  })
  const session = await world.host.openSession({ mode: 'yolo' })
  const cancel = new AbortController()
  const outcome = session.call({ id: 'c1', name: 'outer', arguments: {} }, { signal: cancel.signal })
  await flush()
  await flush()
  cancel.abort()
  expect(verdictOf(await outcome)).toBe('ToolCancelled')
  await flush()
  expect(world.compartment('inner').inFlight).toBe(0)
})

test('the time of the outer call is paused while a person is asked about the inner call', async () => {
  const clock = new ManualClock()
  const world = createWorld({
    clock,
    extensions: [
      {
        id: 'outer',
        tools: {
          outer: caller(
            calls('inner', { k: 'v' }),
            { timeoutMs: 100, gated: false, requires: { fs: { read: ['{workspace}'] }, capabilities: ['tools.call'] } },
          ),
        },
      },
      { id: 'inner', tools: { inner: { approvalKey: '{k}' } } },
    ],
  })
  const approver = new ScriptedApprover()
  const session = await world.host.openSession({ approver })
  const outcome = session.call({ id: 'c1', name: 'outer', arguments: {} })
  await flush()
  approver.answer('once')
  await clock.advance(10_000)
  expect(approver.asked.map(({ tool }) => tool)).toEqual(['outer', 'inner'])
  approver.answer('once')
  expect(await outcome).toMatchObject({ type: 'output', data: { k: 'v' } })
})
