import { expect, test } from 'vitest'
import { flush } from '../twin/clock.ts'
import { createWorld, verdictOf, type TwinRuntime } from '../twin/world.ts'

const echo = { id: 'c', name: 'echo', arguments: {} }

test('morphix: workflows that run at once in one session have budgets of their own', async () => {
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
    ['output', 'BudgetExhausted', 'BudgetExhausted'], ['output', 'output', 'BudgetExhausted'], ['output', 'output', 'output'],
  ])
})

test('each workflow begins with the configured budget, and outside of one the session is its own', async () => {
  const { host } = createWorld({ config: { budget: { calls: 1 } } })
  const session = await host.openSession({ mode: 'yolo' })
  const twice = async () => [verdictOf(await session.call(echo)), verdictOf(await session.call(echo))]
  for (let round = 0; round < 2; round++) {
    expect(await host.runWorkflow(undefined, twice)).toEqual(['output', 'BudgetExhausted'])
  }
  expect(await twice()).toEqual(['output', 'BudgetExhausted'])
})

test('a budget given to the session binds inside of workflows too, and one inside another draws from both', async () => {
  const { host } = createWorld()
  const session = await host.openSession({ mode: 'yolo', budget: { calls: 2 } })
  const verdict = async () => verdictOf(await session.call(echo))
  expect(await host.runWorkflow({ calls: 9 }, async () => [await verdict(), await verdict(), await verdict()]))
    .toEqual(['output', 'output', 'BudgetExhausted'])
  const free = await host.openSession({ mode: 'yolo' })
  const inner = () => host.runWorkflow({ calls: 9 }, async () => verdictOf(await free.call(echo)))
  expect(await host.runWorkflow({ calls: 1 }, async () => [await inner(), await inner()])).toEqual(['output', 'BudgetExhausted'])
})

test('a sub-agent draws from the workflow once, not once for each generation', async () => {
  const { host } = createWorld()
  const session = await host.openSession({ mode: 'yolo' })
  const subagent = await (await session.openSubagent({ mode: 'yolo' })).openSubagent({ mode: 'yolo' })
  expect(await host.runWorkflow({ calls: 2 }, async () => [
    verdictOf(await subagent.call(echo)), verdictOf(await subagent.call(echo)), verdictOf(await subagent.call(echo)),
  ])).toEqual(['output', 'output', 'BudgetExhausted'])
})

test('a call that a tool makes is paid by the workflow that called the tool, not by the one that started it', async () => {
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

test('what a tool says it used is settled, and never less than was reserved', async () => {
  const tokens = (used: number) => ({ type: 'output', data: 1, metadata: { tokens_used: used } })
  const { host } = createWorld({ extensions: [{ tools: { echo: { execute: (args) => tokens(Number(args['used'])) } } }] })
  const session = await host.openSession({ mode: 'yolo', budget: { tokens: 20 } })
  const use = async (used: number) => verdictOf(await session.call({ id: 'c', name: 'echo', arguments: { used } }))
  expect(await use(0)).toBe('output')
  expect(await use(12)).toBe('output')
  expect(await use(0)).toBe('output')
  expect(await use(0)).toBe('BudgetExhausted')
})
