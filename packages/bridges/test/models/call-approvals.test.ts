import type { ApprovalRequest } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { CallApprovals } from '../../src/models/call-approvals.ts'

it('keeps 1000 questions that no call followed, the latest ones', async () => {
  const approvals = new CallApprovals()
  const session = {
    tools: () => [], call: () => Promise.reject(new Error('no call')),
    explain: async ({ id: callId }: { readonly id: string }) =>
      ({ decision: 'ask' as const, question: { callId } as ApprovalRequest }),
  }
  for (let index = 0; index <= 1_000; index++) {
    await approvals.ask(session, { id: `${index}`, name: 'x', arguments: {} })
  }
  expect(['0', '1', '1000'].map((id) => approvals.question(id)?.callId)).toEqual([undefined, '1', '1000'])
})

it('an approval is for one call, and for none that a tool makes', async () => {
  const approvals = new CallApprovals()
  const answer = (callId: string, more = {}) => approvals.approve({ callId, tool: 'x', ...more } as ApprovalRequest)
  const call = { id: 'approved', name: 'x', arguments: {} }
  const id = await approvals.carryOut(call, true, async (known) => {
    expect(await answer(known.id)).toEqual({ decision: 'once' })
    expect(await answer(known.id, { calledBy: known.id })).toMatchObject({ decision: 'reject' })
    expect(await answer(known.id, { tool: 'y' })).toMatchObject({ decision: 'reject' })
    return known.id
  })
  expect(await answer(id)).toMatchObject({ decision: 'reject', reason: 'it was not approved' })
})
