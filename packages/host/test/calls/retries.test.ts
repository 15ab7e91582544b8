import { BulkheadError, type Interactor } from '@bulkhead/contract'
import { ToolError } from '@bulkhead/contract/author'
import { expect, test } from 'vitest'
import { flush } from '../twin/clock.ts'
import type { ToolSketch, TwinRuntime } from '../twin/world.ts'
import { ACTS, hang, prepared } from './failing-tools.ts'

const fail = () => { throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }) }
const busy = () => { throw Object.assign(new Error('busy'), { code: 'ResourceBusy' }) }
const report = () => { throw new ToolError('ToolExecutionFailed', 'wrong') }

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
  [
    'an exception of a tool that reads and may have effects', { mode: 'read', effects: 'once', execute: fail },
    'ToolExecutionFailed', 1,
  ],
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

test.each<[string, ToolSketch, number]>([
  ['that can only read', {}, 3],
  ['that claims to have no effects', { requires: { fs: { write: ['{workspace}'] } }, effects: 'none' }, 1],
  ['that can be reverted', { ...ACTS, effects: 'reversible' }, 1],
])('after a crash a tool %s has as many attempts as its effects allow', async (_, tool, attempts) => {
  const execute = () => { world.compartment().crash(); return hang() }
  const { clock, world, call } = await prepared({ ...tool, execute })
  const outcome = call()
  await clock.advance(60_000)
  expect(await outcome).toMatchObject({ error: { code: 'CompartmentCrashed' }, metadata: { attempt: attempts } })
  expect(world.sandbox.requests).toHaveLength(attempts)
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
