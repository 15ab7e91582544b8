import { expect, test } from 'vitest'
import { flush } from '../twin/clock.ts'
import { createWorld, verdictOf, type TwinRuntime } from '../twin/world.ts'

const echo = { id: 'c', name: 'echo', arguments: {} }

test('morphix: concurrent workflows of one session have separate budgets', async () => {
  const { host } = createWorld()
  const session = await host.openSession({ mode: 'yolo' })
  const workflow = (limit: number) => host.runWorkflow({ calls: limit }, async () => {
    const verdicts: string[] = []
    for (let call = 0; call < 3; call++) {
      await flush()
      verdicts.push(verdictOf(await session.call(echo)))
    }
    return verdicts
  })
  expect(await Promise.all([workflow(1), workflow(2), workflow(9)])).toEqual([
    ['output', 'BudgetExhausted', 'BudgetExhausted'], ['output', 'output', 'BudgetExhausted'],
    ['output', 'output', 'output'],
  ])
})

test('each workflow starts with the configured budget, and so does a session outside of one', async () => {
  const { host } = createWorld({ config: { budget: { calls: 1 } } })
  const session = await host.openSession({ mode: 'yolo' })
  const twice = async () => [verdictOf(await session.call(echo)), verdictOf(await session.call(echo))]
  for (let round = 0; round < 2; round++) {
    expect(await host.runWorkflow(undefined, twice)).toEqual(['output', 'BudgetExhausted'])
  }
  expect(await twice()).toEqual(['output', 'BudgetExhausted'])
})

test('a budget of the session also limits its workflows, and nested workflows use both budgets', async () => {
  const { host } = createWorld()
  const session = await host.openSession({ mode: 'yolo', budget: { calls: 2 } })
  const verdict = async () => verdictOf(await session.call(echo))
  expect(await host.runWorkflow({ calls: 9 }, async () => [await verdict(), await verdict(), await verdict()]))
    .toEqual(['output', 'output', 'BudgetExhausted'])
  const free = await host.openSession({ mode: 'yolo' })
  const inner = () => host.runWorkflow({ calls: 9 }, async () => verdictOf(await free.call(echo)))
  expect(await host.runWorkflow({ calls: 1 }, async () => [await inner(), await inner()])).toEqual([
    'output', 'BudgetExhausted',
  ])
})

test('a sub-agent uses the budget of a workflow once, at any depth', async () => {
  const { host } = createWorld()
  const session = await host.openSession({ mode: 'yolo' })
  const subagent = await (await session.openSubagent({ mode: 'yolo' })).openSubagent({ mode: 'yolo' })
  expect(await host.runWorkflow({ calls: 2 }, async () => [
    ...await Promise.all(['a', 'b', 'c'].map(async (id) => verdictOf(await subagent.call({ ...echo, id })))),
  ])).toEqual(['output', 'output', 'BudgetExhausted'])
})

test('a nested call uses the budget of the workflow that called the tool', async () => {
  const powers = { fs: { read: ['{workspace}'] }, capabilities: ['tools.call' as const] }
  // The compartment answers in the async context of its opener.
  let inThatContext: (work: () => Promise<unknown>) => Promise<unknown> = (work) => work()
  const world = createWorld({
    extensions: [
      {
        id: 'outer',
        tools: {
          outer: {
            requires: powers, mode: 'read',
            execute: (_, { services, callId, signal }: TwinRuntime) =>
              inThatContext(() => services.callTool!(callId, 'inner', {}, signal)),
          },
        },
      },
      { id: 'inner', tools: { inner: { execute: () => 'ran' } } },
    ],
  })
  const session = await world.host.openSession({ mode: 'yolo' })
  const outer = { id: 'o', name: 'outer', arguments: {} }
  await world.host.runWorkflow({ calls: 2 }, async () => {
    const { AsyncResource } = await import('node:async_hooks')
    const context = new AsyncResource('the compartment')
    inThatContext = (work) => context.runInAsyncScope(work)
    expect(verdictOf(await session.call(outer))).toBe('output')
  })
  expect(await world.host.runWorkflow({ calls: 4 }, async () => [
    verdictOf(await session.call(outer)), verdictOf(await session.call(outer)), verdictOf(await session.call(outer)),
  ])).toEqual(['output', 'output', 'BudgetExhausted'])
})

test('the usage that a tool reports is settled, and is at least the reservation', async () => {
  const tokens = (used: number) => ({ type: 'output', data: 1, metadata: { tokens_used: used } })
  const { host } = createWorld({
    extensions: [{ tools: { echo: { execute: (args) => tokens(Number(args['used'])) } } }],
  })
  const session = await host.openSession({ mode: 'yolo', budget: { tokens: 20 } })
  const use = async (used: number) => verdictOf(await session.call({ id: 'c', name: 'echo', arguments: { used } }))
  expect(await use(0)).toBe('output')
  expect(await use(12)).toBe('output')
  expect(await use(0)).toBe('output')
  expect(await use(0)).toBe('BudgetExhausted')
})
