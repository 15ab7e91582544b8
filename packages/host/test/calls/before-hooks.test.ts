import { expect, test } from 'vitest'
import type { Hooks } from '../../src/index.ts'
import { flush } from '../twin/clock.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

async function callWith(hooks: Hooks) {
  const world = createWorld()
  const session = await world.host.openSession({ mode: 'yolo', hooks })
  const outcome = await session.call({ id: 'c1', name: 'echo', arguments: { a: 1 } })
  return { world, session, outcome }
}

test.each<[string, Hooks['beforeToolExecution'] & {}]>([
  ['returns false', () => false],
  ['resolves to false', async () => false],
  [
    'resolves to false with a custom promise',
    (() => ({ then: (take: (answer: boolean) => void) => take(false) })) as never,
  ],
  ['throws', () => { throw new Error('confused') }],
  ['rejects', async () => { throw new Error('confused') }],
])('a before-hook that %s skips the call: cancelled, never started', async (_, beforeToolExecution) => {
  const { world, outcome } = await callWith({ beforeToolExecution })
  expect(outcome).toMatchObject({ type: 'error', error: { code: 'HookVetoed' }, metadata: { attempt: 0 } })
  expect(world.eventsOf('ToolInvocationStarted')).toEqual([])
  expect(world.eventsOf('ToolInvocationFailed')).toEqual([])
  expect(world.eventsOf('ToolInvocationCancelled')).toMatchObject([{ errorCode: 'HookVetoed' }])
  expect(world.compartment().calls).toEqual([])
})

test('it gets the call, which runs unless the answer is false', async () => {
  const seen: unknown[] = []
  const { outcome } = await callWith({ beforeToolExecution: (call) => { seen.push(call) } })
  expect(verdictOf(outcome)).toBe('output')
  expect(seen).toMatchObject([
    {
      callId: 'c1', args: { a: 1 }, approvalKey: 'echo', tool: { name: 'echo' },
      origin: { layer: 'global', extension: 'sample' },
    },
  ])
})

test('a hook that hangs does not delay a cancelled call', async () => {
  const world = createWorld()
  const session = await world.host.openSession({
    mode: 'yolo',
    hooks: { beforeToolExecution: () => new Promise(() => {}) },
  })
  const cancel = new AbortController()
  const outcome = session.call({ id: 'c1', name: 'echo', arguments: {} }, { signal: cancel.signal })
  await flush()
  cancel.abort()
  expect(verdictOf(await outcome)).toBe('ToolCancelled')
})

test('the after-hook gets successes and failures of calls that ran, and cannot change them', async () => {
  const verdicts: string[] = []
  const world = createWorld({
    extensions: [
      {
        tools: {
          echo: {
            mode: 'local', effects: 'once',
            execute: (args) => {
              if (args['bad']) throw new Error('bad')
              return 'good'
            },
          },
        },
      },
    ],
  })
  const session = await world.host.openSession({
    mode: 'yolo',
    hooks: {
      beforeToolExecution: (call) => call.args['skip'] !== true,
      afterToolExecution: async (_, outcome) => {
        verdicts.push(verdictOf(outcome))
        throw new Error('observer')
      },
    },
  })
  for (const args of [{}, { bad: true }, { skip: true }]) await session.call({ id: 'c', name: 'echo', arguments: args })
  await flush()
  expect(verdicts).toEqual(['output', 'ToolExecutionFailed'])
  expect(world.eventsOf('SuppressedError')).toMatchObject([
    { source: 'hook afterToolExecution', message: 'observer' }, { source: 'hook afterToolExecution' },
  ])
})
