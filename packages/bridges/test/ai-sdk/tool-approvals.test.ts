import type { ApprovalRequest } from '@bulkhead/contract'
import type { ModelMessage } from 'ai'
import { expect, it } from 'vitest'
import { ToolApprovals } from '../../src/ai-sdk/tool-approvals.ts'

const CALL = { toolCallId: 'c1', toolName: 'write_file', input: { path: 'a' } }
const request = (callId: string, more: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
  sessionId: 's', callId, tool: 'write', label: '', mode: 'safe_write', kind: 'edit', origin: '', approvalKey: '',
  argumentsText: '', touches: [], mayTouch: [], reasons: [], answers: [], ...more,
})

/** The messages with which the SDK executes an approved call. */
function approved({ approvalId = 'a1', answer = true, of = CALL } = {}): ModelMessage[] {
  return [
    {
      role: 'assistant',
      content: [
        { type: 'tool-call', ...of }, { type: 'tool-approval-request', approvalId, toolCallId: of.toolCallId },
      ],
    },
    { role: 'tool', content: [{ type: 'tool-approval-response', approvalId, approved: answer }] },
  ]
}

/** What the host gets when it asks while the call runs. */
const answered = (approvals: ToolApprovals, messages: readonly ModelMessage[], ask: Partial<ApprovalRequest> = {}) =>
  approvals.carryOut(
    { id: CALL.toolCallId, name: 'write', arguments: CALL.input }, approvals.redeem({ ...CALL, messages }),
    async ({ id }) => (await approvals.approve(request(id, ask))).decision,
  )

it('approves a call that the person approved, once', async () => {
  const approvals = new ToolApprovals()
  expect(await answered(approvals, approved())).toBe('once')
  expect(await answered(approvals, approved())).toBe('reject')
  expect(await answered(approvals, approved({ approvalId: 'a2' }))).toBe('once')
  expect(await approvals.approve(request('c1'))).toMatchObject({ decision: 'reject' })
})

it.each<[string, readonly ModelMessage[], Partial<ApprovalRequest>?]>([
  ['without messages', []],
  ['that was denied', approved({ answer: false })],
  ['whose approval is for another call', approved({ of: { ...CALL, toolCallId: 'c2' } })],
  ['whose approval is for another tool', approved({ of: { ...CALL, toolName: 'read' } })],
  ['whose approval is for other input', approved({ of: { ...CALL, input: { path: 'b' } } })],
  ['whose request is missing', approved().slice(1)],
  ['whose approval is not the last message', [...approved(), { role: 'user', content: 'And now?' }]],
  ['of another tool under its id', approved(), { tool: 'bash' }],
  ['that its tool makes', approved(), { calledBy: ['write'] }],
])('rejects a call %s', async (_, messages, ask) => {
  expect(await answered(new ToolApprovals(), messages, ask)).toBe('reject')
})

it('gives a second call with the same id no approval of the first', async () => {
  const approvals = new ToolApprovals()
  const call = { id: CALL.toolCallId, name: 'write', arguments: CALL.input }
  const isApproved = approvals.redeem({ ...CALL, messages: approved() })
  const decisions = await approvals.carryOut(call, isApproved, async ({ id: first }) => [
    await answered(approvals, []), (await approvals.approve(request(first))).decision,
  ])
  expect(decisions).toEqual(['reject', 'once'])
})

it('keeps the question until its call, and honours an approval only for what the person saw', async () => {
  const approvals = new ToolApprovals()
  const question = request('c1', { diff: '-a\n+b', touches: ['write a'] })
  const session = {
    tools: () => [], call: () => Promise.reject(new Error('unused')),
    explain: async () => ({ decision: 'ask' as const, question }),
  }
  const call = { id: CALL.toolCallId, name: 'write', arguments: CALL.input }
  for (const [diff, decision] of [['-a\n+b', 'once'], ['-x\n+b', 'reject']] as const) {
    expect(await approvals.ask(session, call)).toBe(question)
    expect(approvals.question('c1')).toBe(question)
    expect(await answered(approvals, approved({ approvalId: diff }), { diff, touches: ['write a'] })).toBe(decision)
    expect(approvals.question('c1')).toBeUndefined()
  }
})
