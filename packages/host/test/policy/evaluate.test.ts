import { hash } from 'node:crypto'
import { canonicalJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { expect, test } from 'vitest'
import type { CallCheck, SessionOptions } from '../../src/index.ts'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld, verdictOf, type WorldSketch } from '../twin/world.ts'

const SCHEMA = {
  type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } }, additionalProperties: false,
}
const change = (make: (args: JsonObject) => unknown): CallCheck => function tidier({ args }) {
  return { action: 'change', arguments: make(args), reason: 'tidier' }
}
const digest = (args: Json) => hash('sha256', canonicalJson(args))

async function called(options: SessionOptions, args: JsonObject = { city: 'oslo' }, sketch: WorldSketch = {}) {
  const world = createWorld({
    extensions: [{ tools: { echo: { inputSchema: SCHEMA, approvalKey: '{city}' } } }], ...sketch,
  })
  const session = await world.host.openSession(options)
  const call = { id: 'c', name: 'echo', arguments: args }
  const explained = await session.explain(call)
  return { world, explained, outcome: await session.call(call), session, call }
}

test('arguments that a watchdog changed are validated and evaluated again, then run', async () => {
  const seen: unknown[] = []
  const { world, outcome, explained } = await called({
    mode: 'yolo',
    watchdog: [
      ({ args, approvalKey }) => {
        seen.push([args['city'], approvalKey])
      },
      change(() => ({ city: 'Oslo' })),
    ],
  })
  expect(outcome).toMatchObject({ type: 'output', data: { city: 'Oslo' } })
  // Twice for explain and twice for the call; the second time with the new key.
  expect(seen).toEqual([['oslo', 'oslo'], ['Oslo', 'Oslo'], ['oslo', 'oslo'], ['Oslo', 'Oslo']])
  expect(world.eventsOf('ToolInvocationProposed')).toMatchObject([{ args: { city: 'oslo' } }])
  expect(world.eventsOf('ToolInvocationChanged')).toMatchObject([
    {
      callId: 'c', subject: 'arguments', stage: 'watchdog', source: 'watchdog tidier', reason: 'tidier',
      before: digest({ city: 'oslo' }), after: digest({ city: 'Oslo' }),
    },
  ])
  expect(world.eventsOf('ToolInvocationDecided')).toMatchObject([{ args: { city: 'Oslo' }, approvalKey: 'Oslo' }])
  expect(explained).toMatchObject({ decision: 'allow', approvalKey: 'Oslo', arguments: { city: 'Oslo' } })
  expect(explained.chain.map(({ stage, action }) => `${stage} ${action}`))
    .toEqual(['resolve pass', 'validate pass', 'watchdog change', 'security-mode ask', 'approval allow'])
})

test('a person sees and approves the changed arguments', async () => {
  const approver = new ScriptedApprover('session')
  const { session, call, outcome } = await called({ approver, guards: [change(() => ({ city: 'Oslo' }))] })
  expect(verdictOf(outcome)).toBe('output')
  expect(approver.asked).toMatchObject([{ approvalKey: 'Oslo', argumentsText: '{\n  "city": "Oslo"\n}' }])
  await session.call({ ...call, arguments: { city: 'Oslo' } })
  expect(approver.asked).toHaveLength(1)
})

test('a rule against the changed arguments denies', async () => {
  const { outcome, explained, world } = await called({
    mode: 'yolo', rules: [{ permission: 'echo', pattern: 'Oslo', action: 'deny' }],
    watchdog: change(() => ({ city: 'Oslo' })),
  })
  expect(verdictOf(outcome)).toBe('RuleDenied')
  expect(explained).toMatchObject({ decision: 'deny', code: 'RuleDenied' })
  expect(world.sandbox.compartments.flatMap(({ calls }) => calls)).toEqual([])
})

test('a deny is final: later policies are not evaluated', async () => {
  let calls = 0
  const { outcome } = await called({
    mode: 'yolo', rules: [{ permission: 'echo', pattern: 'oslo', action: 'deny' }],
    watchdog: () => { calls++; return { action: 'change', arguments: { city: 'Bergen' }, reason: 'elsewhere' } },
  })
  expect(verdictOf(outcome)).toBe('RuleDenied')
  expect(calls).toBe(0)
})

test.each<[string, unknown]>([
  ['that the schema refuses', { city: 5 }],
  ['that are no object', 'Oslo'],
  ['that are no JSON', { city: () => 'Oslo' }],
  ['that are missing', undefined],
])('changed arguments %s deny the call in the name of the policy that changed them', async (_, wanted) => {
  const { outcome, explained } = await called({ mode: 'yolo', guards: [change(() => wanted)] })
  expect(outcome).toMatchObject({ error: { code: 'GuardDenied', data: { source: 'guard tidier' } } })
  expect(explained).toMatchObject({ decision: 'deny', code: 'GuardDenied' })
})

test('a change to equal arguments is no change', async () => {
  const { outcome, world } = await called(
    { mode: 'yolo', watchdog: change(({ city }) => ({ city: String(city).toUpperCase() })) }, { city: 'OSLO' },
  )
  expect(verdictOf(outcome)).toBe('output')
  expect(world.eventsOf('ToolInvocationChanged')).toEqual([])
})

test('two policies that keep changing the arguments are stopped', async () => {
  const { outcome, explained, world } = await called({
    mode: 'yolo', watchdog: [change(() => ({ city: 'Oslo' })), change(() => ({ city: 'Bergen' }))],
  })
  expect(outcome).toMatchObject({ error: { code: 'ArgumentsUnsettled' } })
  expect(explained).toMatchObject({ decision: 'deny', code: 'ArgumentsUnsettled' })
  expect(explained.chain.filter(({ action }) => action === 'change')).toHaveLength(4)
  expect(world.eventsOf('ToolInvocationChanged')).toHaveLength(4)
})

test('the parent session also evaluates changed arguments of a sub-agent', async () => {
  const world = createWorld({ extensions: [{ tools: { echo: { approvalKey: '{city}' } } }] })
  const outer = await world.host.openSession({
    mode: 'yolo',
    watchdog: ({ args }) => (args['city'] === 'Bergen' ? { action: 'deny', reason: 'not there' } : undefined),
  })
  const inner = await outer.openSubagent({ mode: 'yolo', watchdog: change(() => ({ city: 'Bergen' })) })
  expect(verdictOf(await inner.call({ id: 'c', name: 'echo', arguments: { city: 'Oslo' } }))).toBe('WatchdogDenied')
})

test('the audit records who changed which arguments', async () => {
  const { world } = await called(
    { mode: 'yolo', watchdog: change(() => ({ city: 'Oslo' })) }, { city: 'oslo' },
    { config: { audit: { enabled: true } } },
  )
  await world.host.flush()
  const records = (await world.store.records()).map(({ record }) => record as JsonObject)
  expect(records.filter(({ type }) => type === 'ToolInvocationChanged')).toMatchObject([
    { source: 'watchdog tidier', before: digest({ city: 'oslo' }), after: digest({ city: 'Oslo' }) },
  ])
})
