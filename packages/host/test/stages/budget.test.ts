import { expect, test } from 'vitest'
import { createWorld, verdictOf } from '../twin/world.ts'

test('calls run out, and the one too many never reaches the tool', async () => {
  const world = createWorld()
  const session = await world.host.openSession({ mode: 'yolo', budget: { calls: 2 } })
  const outcomes = await Promise.all([1, 2, 3].map((index) => session.call({ id: `c${index}`, name: 'echo', arguments: {} })))
  expect(outcomes.map(verdictOf).toSorted()).toEqual(['BudgetExhausted', 'output', 'output'])
  expect(world.compartment().calls).toHaveLength(2)
})

test('tokens are estimated from the arguments, told, and run out', async () => {
  const { host } = createWorld({ config: { budget: { tokens: 10 } } })
  const session = await host.openSession({ mode: 'yolo' })
  const text = 'x'.repeat(20)
  expect(
    await session.call({ id: 'c1', name: 'echo', arguments: { text } }),
  ).toMatchObject({ type: 'output', metadata: { tokens_used: 8 } })
  expect(await session.call({ id: 'c2', name: 'echo', arguments: { text } })).toMatchObject({
    error: { code: 'BudgetExhausted', data: { limit: 'tokens', left: 2 } },
  })
  expect(verdictOf(await session.call({ id: 'c3', name: 'echo', arguments: {} }))).toBe('output')
})

test('explain knows of it, and takes nothing', async () => {
  const { host } = createWorld({ extensions: [{ tools: { echo: {}, free: { gated: false, mode: 'read', requires: {} } } }] })
  const session = await host.openSession({ budget: { calls: 1 }, approver: { approve: async () => ({ decision: 'once' }) } })
  const call = { id: 'c', name: 'free', arguments: {} }
  for (let look = 0; look < 3; look++) expect(await session.explain(call)).toMatchObject({ decision: 'allow' })
  expect(verdictOf(await session.call(call))).toBe('output')
  expect(await session.explain(call)).toMatchObject({
    decision: 'deny', code: 'BudgetExhausted', remedies: [expect.stringContaining('raise the budget')],
  })
  expect((await session.explain(call)).chain.at(-1)).toMatchObject({ stage: 'budget', action: 'deny' })
  const asking = await session.explain({ ...call, name: 'echo' })
  expect(asking).toMatchObject({ decision: 'ask' })
  expect(asking.chain.at(-1)).toMatchObject({ stage: 'budget', action: 'deny' })
  expect(verdictOf(await session.call({ ...call, name: 'echo' }))).toBe('BudgetExhausted')
})

test('a call that never ran gives back what it had', async () => {
  const { host } = createWorld()
  let veto = true
  const session = await host.openSession({ mode: 'yolo', budget: { calls: 1 }, hooks: { beforeToolExecution: () => !veto } })
  expect(verdictOf(await session.call({ id: 'c1', name: 'echo', arguments: {} }))).toBe('HookVetoed')
  veto = false
  expect(verdictOf(await session.call({ id: 'c2', name: 'echo', arguments: {} }))).toBe('output')
  expect(verdictOf(await session.call({ id: 'c3', name: 'echo', arguments: {} }))).toBe('BudgetExhausted')
})
