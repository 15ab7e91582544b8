import type { ApprovalRequest, InteractionEnvelope } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { acpInteractor } from '../../src/acp/interactor.ts'

it('keeps 1000 keys that are always rejected, and asks about further ones each time', async () => {
  const asked: unknown[] = []
  const client = {
    request: async (_method: string, { toolCall }: { readonly toolCall: { readonly title: string } }) => {
      asked.push(toolCall.title)
      return { outcome: { outcome: 'selected', optionId: 'reject_always' } }
    },
  }
  const interactor = acpInteractor({
    client: client as never, sessionId: 's', capabilities: {}, clientName: 'x', updates: { shown: () => undefined },
  })
  const ask = (approvalKey: string) => {
    const approval: Partial<ApprovalRequest> = {
      callId: 'c1', tool: 'go', label: approvalKey, origin: 'global extension ship 1.0.0', approvalKey, answers: [],
      mode: 'external', kind: 'other', touches: [], mayTouch: [], reasons: [], argumentsText: '{}',
    }
    const request = { kind: 'Approve', approval: approval as ApprovalRequest } as const
    return interactor.interact({ request } as InteractionEnvelope, new AbortController().signal)
  }
  for (let index = 0; index <= 1_000; index++) await ask(`${index}`)
  asked.length = 0
  for (const key of ['0', '999', '1000']) expect(await ask(key)).toMatchObject({ value: { decision: 'reject' } })
  expect(asked).toEqual(['1000'])
})
