import { expect, it } from 'vitest'
import { createScriptedApprover, createTestHost } from '../../src/testing/index.ts'
import '../../src/testing/vitest.ts'
import { CACHE } from '../cache.ts'

it.each([
  false, true,
])('an approval for the project is neither offered nor accepted until it is enabled: %s', async (enabled) => {
  const approver = createScriptedApprover(enabled ? ['project'] : ['project', 'once'])
  await using host = await createTestHost({
    cache: CACHE, ...(enabled && { config: { approvals: { project: true } } }),
    tools: { pay: { gated: true, execute: () => 'paid' } },
  })
  for (const id of ['first', 'second']) {
    const session = await host.openSession({ mode: 'ask', approver })
    expect(await session.call({ id, name: 'pay', arguments: {} })).toSucceedWith('paid')
  }
  approver.check()
  const { answers } = approver.requests[0]!
  expect(answers.some(({ decision }) => decision === 'project')).toBe(enabled)
})
