import type { ApprovalRequest } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { createScriptedApprover } from '../../src/testing/index.ts'

const request = { tool: 'write', approvalKey: 'a\u0007.txt' } as ApprovalRequest
const signal = new AbortController().signal

it('answers in order, with a value or a function', async () => {
  const approver = createScriptedApprover([
    'once', { decision: 'session', by: 'Ada' }, ({ tool }) => (tool === 'write' ? 'reject' : 'once'),
  ])
  expect(await approver.approve(request, signal)).toEqual({ decision: 'once' })
  expect(await approver.approve(request, signal)).toEqual({ decision: 'session', by: 'Ada' })
  expect(() => approver.check()).toThrow('1 of 3 answers were not used: a function.')
  expect(await approver.approve(request, signal)).toEqual({ decision: 'reject' })
  approver.check()
  expect(approver.requests).toEqual([request, request, request])
})

it('names the request that it did not expect, with its key made visible', async () => {
  const approver = createScriptedApprover(['once'])
  await approver.approve(request, signal)
  await expect(approver.approve(request, signal)).rejects.toThrow(
    /"write" with the key "a\\u\{?0*7\}?\.txt": all 1 answers are used/,
  )
  expect(() => approver.check()).toThrow('Unexpected approval request')
})

it('refuses answers that do not exist', async () => {
  for (const answers of ['once', ['yes'], [{ decison: 'once' }], [{ reason: 'no' }]]) {
    expect(() => createScriptedApprover(answers as never)).toThrow(expect.objectContaining({ code: 'ConfigInvalid' }))
  }
  const approver = createScriptedApprover([() => 'yes' as never])
  await expect(approver.approve(request, signal)).rejects.toMatchObject({ code: 'ConfigInvalid' })
  expect(() => approver.check()).toThrow('Pass "once" or "session" or "project" or "later" or "reject"')
})

it('reports what a function throws', async () => {
  const approver = createScriptedApprover([() => { throw new Error('wrong tool') }])
  await expect(approver.approve(request, signal)).rejects.toThrow('wrong tool')
  expect(() => approver.check()).toThrow('wrong tool')
})
