import { expect, test } from 'vitest'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

test.each(['session', 'project'] as const)('what was approved for the %s and is revoked while calls before it run lets no call through', async (scope) => {
  const world = createWorld({
    extensions: [{
      tools: { first: { mode: 'read', gated: false, execute: async () => (await world.host.approvals.revoke({ tool: 'echo' }, 'Ada')).length }, echo: {} },
    }],
  })
  const session = await world.host.openSession({ approver: new ScriptedApprover(scope) })
  await session.call({ id: 'before', name: 'echo', arguments: {} })
  const calls = ['echo', 'first', 'echo'].map((name, index) => ({ id: `c${index}`, name, arguments: {} }))
  const outcomes = await session.callAll(calls, { strategy: 'sequential' })
  expect(outcomes.map(verdictOf)).toEqual(['output', 'output', 'ApprovalDenied'])
  expect(outcomes[2]).toMatchObject({ error_text: expect.stringContaining('was revoked before it began'), metadata: { attempt: 0 } })
  expect(world.eventsOf('ToolInvocationDecided').at(-1)).toMatchObject({ callId: 'c2', decision: 'deny', stage: 'approval' })
})
