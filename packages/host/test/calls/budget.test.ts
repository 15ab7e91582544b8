import { expect, test } from 'vitest'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

test('a call beyond the limit of calls never reaches the tool', async () => {
  const world = createWorld()
  const session = await world.host.openSession({ mode: 'yolo', budget: { calls: 2 } })
  const outcomes = await Promise.all(
    [1, 2, 3].map((index) => session.call({ id: `c${index}`, name: 'echo', arguments: {} })),
  )
  expect(outcomes.map(verdictOf).toSorted()).toEqual(['BudgetExhausted', 'output', 'output'])
  expect(world.compartment().calls).toHaveLength(2)
})

test('tokens are estimated from the arguments, reported, and limited', async () => {
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

test('explain reads the budget without using it; an exhausted budget denies before a person is asked', async () => {
  const { host, eventsOf } = createWorld({
    extensions: [{ tools: { echo: {}, free: { gated: false, mode: 'read', requires: {} } } }],
  })
  const approver = new ScriptedApprover('once')
  const session = await host.openSession({ budget: { calls: 1 }, approver })
  const call = { id: 'c', name: 'free', arguments: {} }
  for (let look = 0; look < 3; look++) expect(await session.explain(call)).toMatchObject({ decision: 'allow' })
  expect(verdictOf(await session.call(call))).toBe('output')
  expect(await session.explain(call)).toMatchObject({
    decision: 'deny', code: 'BudgetExhausted', remedies: [expect.stringContaining('raise the budget')],
  })
  const spent = { stage: 'budget', source: 'budget.calls', reason: 'All 1 calls of this workflow are used up.' }
  expect((await session.explain(call)).chain.at(-1)).toEqual({ ...spent, action: 'deny' })
  const gated = { ...call, id: 'g', name: 'echo' }
  const explained = await session.explain(gated)
  expect(explained).toMatchObject({
    decision: 'deny', code: 'BudgetExhausted', remedies: [expect.stringContaining('raise the budget')],
  })
  expect(explained.chain.slice(-2)).toMatchObject([
    { stage: 'security-mode', action: 'ask' }, { ...spent, action: 'deny' },
  ])
  expect(await session.call(gated)).toMatchObject({
    error: { code: 'BudgetExhausted', data: { limit: 'calls', of: 1, left: 0 } },
    error_text: expect.stringContaining(spent.reason),
  })
  expect(eventsOf('ToolInvocationDecided').findLast(({ callId }) => callId === 'g')).toMatchObject({
    ...spent, decision: 'deny',
  })
  expect(approver.asked).toEqual([])
})

test('a budget that is exhausted while a person is asked ends the call', async () => {
  const { host, compartment } = createWorld()
  const answer = Promise.withResolvers<{ decision: 'once' }>()
  const session = await host.openSession({ budget: { calls: 1 }, approver: { approve: () => answer.promise } })
  const calls = ['c1', 'c2'].map((id) => session.call({ id, name: 'echo', arguments: {} }))
  answer.resolve({ decision: 'once' })
  expect((await Promise.all(calls)).map(verdictOf)).toEqual(['output', 'BudgetExhausted'])
  expect(compartment().calls).toHaveLength(1)
})

test('an approval is not used if the budget is exhausted', async () => {
  const { host, eventsOf } = createWorld()
  const approver = new ScriptedApprover('session')
  const session = await host.openSession({ budget: { calls: 1 }, approver })
  const verdicts = [1, 2].map(async (index) =>
    verdictOf(await session.call({ id: `c${index}`, name: 'echo', arguments: {} })),
  )
  expect((await Promise.all(verdicts)).toSorted()).toEqual(['BudgetExhausted', 'output'])
  expect(await session.explain({ id: 'c3', name: 'echo', arguments: {} })).toMatchObject({
    decision: 'deny', approvals: [],
  })
  expect(verdictOf(await session.call({ id: 'c3', name: 'echo', arguments: {} }))).toBe('BudgetExhausted')
  expect(eventsOf('ToolInvocationDecided').at(-1)).toMatchObject({ callId: 'c3', decision: 'deny', stage: 'budget' })
})

test('a call that never ran releases its reservation', async () => {
  const { host } = createWorld()
  let veto = true
  const session = await host.openSession({
    mode: 'yolo', budget: { calls: 1 }, hooks: { beforeToolExecution: () => !veto },
  })
  expect(verdictOf(await session.call({ id: 'c1', name: 'echo', arguments: {} }))).toBe('HookVetoed')
  veto = false
  expect(verdictOf(await session.call({ id: 'c2', name: 'echo', arguments: {} }))).toBe('output')
  expect(verdictOf(await session.call({ id: 'c3', name: 'echo', arguments: {} }))).toBe('BudgetExhausted')
})
