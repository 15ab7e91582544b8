import { describe, expect, test } from 'vitest'
import type { SessionOptions } from '../../src/index.ts'
import { flush } from '../twin/clock.ts'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld, verdictOf, type WorldSketch } from '../twin/world.ts'

const NO = { action: 'deny', reason: 'no' } as const
const VETO = { beforeToolExecution: () => false }
const echo = (id = 'c') => ({ id, name: 'echo', arguments: { k: 'v' } })

async function family(parent: SessionOptions, child: SessionOptions, sketch: WorldSketch = {}) {
  const world = createWorld(sketch)
  const session = await world.host.openSession(parent)
  return { world, session, subagent: await session.openSubagent(child) }
}

describe('a sub-agent needs its own permission and that of its parent', () => {
  const allow = { permission: 'echo', pattern: '*', action: 'allow' } as const
  const deny = { permission: 'echo', pattern: 'v', action: 'deny' } as const

  test.each<[string, SessionOptions, SessionOptions, string]>([
    ['both allow it', { mode: 'yolo' }, { mode: 'yolo' }, 'output'],
    ['the parent asks and no user is there', { mode: 'ask' }, { mode: 'yolo' }, 'ApprovalDenied'],
    ['the child asks and no user is there', { mode: 'yolo' }, { mode: 'ask' }, 'ApprovalDenied'],
    ['a rule of the parent denies', { mode: 'yolo', rules: [deny] }, { mode: 'yolo', rules: [allow] }, 'RuleDenied'],
    [
      'a longer rule of the child cannot allow it',
      { mode: 'yolo', rules: [{ ...deny, pattern: '*' }] }, { rules: [{ ...allow, pattern: 'v' }] }, 'RuleDenied',
    ],
    ['a rule of the child denies', { mode: 'yolo', rules: [allow] }, { mode: 'yolo', rules: [deny] }, 'RuleDenied'],
    ['only the child has a rule that allows', { mode: 'ask' }, { mode: 'ask', rules: [allow] }, 'ApprovalDenied'],
    ['only the parent has a rule that allows', { mode: 'ask', rules: [allow] }, { mode: 'ask' }, 'ApprovalDenied'],
    [
      'a rule of the parent allows, and the child asks nothing', { mode: 'ask', rules: [allow] }, { mode: 'yolo' },
      'output',
    ],
    ['both have a rule that allows', { mode: 'ask', rules: [allow] }, { mode: 'ask', rules: [allow] }, 'output'],
    [
      'the ceiling of the parent is below the tool', { mode: 'yolo', ceiling: {} }, { mode: 'yolo' },
      'CapabilityDenied',
    ],
    ['the ceiling of the child is below the tool', { mode: 'yolo' }, { mode: 'yolo', ceiling: {} }, 'CapabilityDenied'],
    [
      'a flag of the parent is off',
      { mode: 'yolo', roles: { allow_echo: false } }, { mode: 'yolo', roles: { allow_echo: true } }, 'RoleDenied',
    ],
    [
      'a flag of the child is off', { mode: 'yolo' }, { mode: 'yolo', role: 'r', roles: { allow_echo_r: false } },
      'RoleDenied',
    ],
    ['the watchdog of the parent refuses', { mode: 'yolo', watchdog: () => NO }, { mode: 'yolo' }, 'WatchdogDenied'],
    ['a guard of the parent refuses', { mode: 'yolo', guards: [() => NO] }, { mode: 'yolo' }, 'GuardDenied'],
    ['a hook of the parent vetoes', { mode: 'yolo', hooks: VETO }, { mode: 'yolo' }, 'HookVetoed'],
    ['a hook of the child vetoes', { mode: 'yolo', hooks: {} }, { mode: 'yolo', hooks: VETO }, 'HookVetoed'],
    [
      'the parent is not offered the tool', { mode: 'yolo', tools: [] }, { mode: 'yolo', tools: ['echo'] },
      'ToolNotRegistered',
    ],
    ['the child is not offered the tool', { mode: 'yolo' }, { mode: 'yolo', tools: ['other'] }, 'ToolNotRegistered'],
  ])('both permissions count: %s', async (_, parent, child, verdict) => {
    const { subagent } = await family(parent, child, { extensions: [{ tools: { echo: { approvalKey: '{k}' } } }] })
    expect(verdictOf(await subagent.call(echo()))).toBe(verdict)
  })

  test('a deny applies to all descendants, and several asks are one question', async () => {
    const { session, subagent } = await family(
      {
        mode: 'ask', approver: new ScriptedApprover('once'),
        rules: [{ permission: 'echo', pattern: 'bad', action: 'deny' }],
      },
      { mode: 'yolo' }, { extensions: [{ tools: { echo: { approvalKey: '{k}' } } }] },
    )
    const grandchild = await subagent.openSubagent({ mode: 'yolo' })
    expect(verdictOf(await grandchild.call({ id: 'a', name: 'echo', arguments: { k: 'bad' } }))).toBe('RuleDenied')
    const approver = new ScriptedApprover('once')
    const asking = await session.openSubagent({ approver })
    expect(verdictOf(await asking.call(echo()))).toBe('output')
    expect(approver.asked).toHaveLength(1)
    expect(approver.asked[0]!.reasons).toEqual([...new Set(approver.asked[0]!.reasons)])
  })

  test('a session approval of the child does not apply to the parent', async () => {
    const { session, subagent } = await family({}, { approver: new ScriptedApprover('session') })
    expect(verdictOf(await subagent.call(echo()))).toBe('output')
    expect(verdictOf(await session.call(echo()))).toBe('ApprovalDenied')
  })
})

test('sub-agents can be nested five levels deep', async () => {
  const world = createWorld()
  let session = await world.host.openSession({ mode: 'yolo' })
  for (let depth = 1; depth <= 5; depth++) {
    session = await session.openSubagent({ mode: 'yolo' })
    expect(session.depth).toBe(depth)
  }
  expect(verdictOf(await session.call(echo()))).toBe('output')
  await expect(session.openSubagent()).rejects.toMatchObject({ code: 'SubagentDepthExceeded', data: { limit: 5 } })
  expect(world.eventsOf('SessionOpened').slice(1).every(({ parentId }) => parentId !== undefined)).toBe(true)
})

describe('the budget is shared', () => {
  test('calls of a sub-agent count for its parent, and the child can have a smaller budget', async () => {
    const { session, subagent } = await family(
      { mode: 'yolo', budget: { calls: 3 } }, { mode: 'yolo', budget: { calls: 1 } },
    )
    expect(verdictOf(await subagent.call(echo('1')))).toBe('output')
    expect(verdictOf(await subagent.call(echo('2')))).toBe('BudgetExhausted')
    expect(verdictOf(await session.call(echo('3')))).toBe('output')
    expect(verdictOf(await session.call(echo('4')))).toBe('output')
    expect(verdictOf(await session.call(echo('5')))).toBe('BudgetExhausted')
  })

  test('a session and its sub-agents share the configured budget', async () => {
    const { session, subagent } = await family({ mode: 'yolo' }, { mode: 'yolo' }, { config: { budget: { calls: 2 } } })
    const outcomes = [await subagent.call(echo('1')), await session.call(echo('2')), await subagent.call(echo('3'))]
    expect(outcomes.map(verdictOf)).toEqual(['output', 'output', 'BudgetExhausted'])
  })
})

describe('cancellation affects children, never parents', () => {
  const HANGING = { extensions: [{ tools: { echo: { execute: () => new Promise(() => {}) } } }] }

  test('closing a session closes its sub-agents first', async () => {
    const { world, session, subagent } = await family({ mode: 'yolo' }, { mode: 'yolo' }, HANGING)
    const running = subagent.call(echo())
    await flush()
    await session.close()
    expect(verdictOf(await running)).toBe('SessionCancelled')
    expect(world.eventsOf('SessionClosed').map(({ sessionId }) => sessionId)).toEqual([subagent.id, session.id])
    await expect(session.openSubagent()).rejects.toMatchObject({ code: 'SessionCancelled' })
  })

  test('cancelling a turn cancels its sub-agents, but not those in the background', async () => {
    const world = createWorld(HANGING)
    const session = await world.host.openSession({ mode: 'yolo' })
    const turn = session.beginTurn()
    const bound = await session.openSubagent({ mode: 'yolo' })
    const background = await session.openSubagent({ mode: 'yolo', background: true })
    const calls = [bound.call(echo()), background.call(echo())]
    await flush()
    turn.cancel()
    expect(verdictOf(await calls[0]!)).toBe('TurnCancelled')
    session.cancel()
    expect(verdictOf(await calls[1]!)).toBe('SessionCancelled')
  })

  test('the end of a turn closes its sub-agents after its calls have settled', async () => {
    const world = createWorld(HANGING)
    const session = await world.host.openSession({ mode: 'yolo' })
    session.beginTurn()
    const bound = await session.openSubagent({ mode: 'yolo' })
    const background = await session.openSubagent({ mode: 'yolo', background: true })
    const running = bound.call(echo())
    await flush()
    await session.endTurn()
    expect(verdictOf(await running)).toBe('SessionCancelled')
    expect(world.eventsOf('SessionClosed').map(({ sessionId }) => sessionId)).toEqual([bound.id])
    const going = background.call(echo())
    await flush()
    session.cancel()
    expect(verdictOf(await going)).toBe('SessionCancelled')
  })

  test('a cancelled sub-agent does not affect its parent, and the host closes all', async () => {
    const { world, session, subagent } = await family({ mode: 'yolo' }, { mode: 'yolo' }, { ...HANGING, drainMs: 1 })
    const [own, its] = [session.call(echo('a')), subagent.call(echo('b'))]
    await flush()
    subagent.cancel('cap')
    expect(await its).toMatchObject({ error: { code: 'SessionCancelled', data: { reason: 'cap' } } })
    const other = await session.openSubagent({ mode: 'yolo' })
    const last = other.call(echo('c'))
    await flush()
    expect(await world.host.close()).toMatchObject({ cancelledCalls: 2 })
    expect([await own, await last].map(verdictOf)).toEqual(['HostClosed', 'HostClosed'])
  })
})

test('a family asks one person, one question at a time', async () => {
  const approver = new ScriptedApprover()
  const { session, subagent } = await family(
    { approver }, {}, { extensions: [{ tools: { echo: { approvalKey: '{k}' } } }] },
  )
  const outcomes = [session.call(echo('parent')), subagent.call(echo('child'))]
  await flush()
  expect(approver.asked.map(({ callId }) => callId)).toEqual(['parent'])
  approver.answer('once')
  await flush()
  expect(approver.asked.map(({ callId }) => callId)).toEqual(['parent', 'child'])
  approver.answer('reject')
  expect((await Promise.all(outcomes)).map(verdictOf)).toEqual(['output', 'ApprovalDenied'])
})
