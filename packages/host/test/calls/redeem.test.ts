import { expect, test } from 'vitest'
import { openApprovals } from '../../src/index.ts'
import { ManualClock } from '../twin/clock.ts'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

test.each(['session', 'project'] as const)(
  'an approval for the %s that is revoked while earlier calls run allows no call: a person is asked again',
  async (scope) => {
    const world = createWorld({
      extensions: [
        {
          tools: {
            first: {
              mode: 'read', gated: false,
              execute: async () => (await world.host.approvals.revoke({ tool: 'echo' }, 'Ada')).length,
            },
            echo: {},
          },
        },
      ],
    })
    const approver = new ScriptedApprover(scope, 'reject')
    const session = await world.host.openSession({ approver })
    await session.call({ id: 'before', name: 'echo', arguments: {} })
    const calls = ['echo', 'first', 'echo'].map((name, index) => ({ id: `c${index}`, name, arguments: {} }))
    const outcomes = await session.callAll(calls, { strategy: 'sequential' })
    expect(outcomes.map(verdictOf)).toEqual(['output', 'output', 'ApprovalDenied'])
    expect(outcomes[2]).toMatchObject({ metadata: { attempt: 0 } })
    expect(approver.asked).toHaveLength(2)
    expect(world.eventsOf('ToolInvocationDecided').at(-1)).toMatchObject({
      callId: 'c2', decision: 'deny', stage: 'approval',
    })
  },
)

test('an approval that another process revokes while earlier calls run allows no call', async () => {
  const clock = new ManualClock()
  const reading = { key: 'both', subjects: [{ key: 'one' }, { key: 'two' }], touches: [], asks: [], denies: [] }
  const world = createWorld({
    clock,
    argumentsReaders: new Map([
      [
        'echo',
        ({ of }) => (of === undefined ? reading : { ...reading, key: String(of), subjects: [{ key: String(of) }] }),
      ],
    ]),
    extensions: [
      {
        layer: 'bundled', inline: true,
        tools: {
          first: {
            mode: 'read', gated: false,
            execute: async () => {
              const outside = openApprovals(world.store, clock)
              const [approval] = await outside.list()
              await outside.revoke(approval!.id, 'Ada')
              await clock.advance(10)
              return approval!.approvalKey
            },
          },
          echo: {},
        },
      },
    ],
  })
  const approver = new ScriptedApprover('project', 'project', 'reject')
  const session = await world.host.openSession({ approver })
  for (const value of ['one', 'two']) {
    await session.call({ id: value, name: 'echo', arguments: { of: value } })
    await clock.advance(1_000)
  }
  await world.host.flush()
  const calls = ['first', 'echo'].map((name, index) => ({ id: `c${index}`, name, arguments: {} }))
  const outcomes = await session.callAll(calls, { strategy: 'sequential' })
  expect(outcomes.map(verdictOf)).toEqual(['output', 'ApprovalDenied'])
  expect(outcomes[0]).toMatchObject({ data: 'one' })
})
