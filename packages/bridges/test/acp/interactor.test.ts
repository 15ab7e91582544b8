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

it('offers no answer that allows where a rule demands a passkey', async () => {
  let offered: readonly { readonly optionId: string }[] = []
  const client = {
    request: async (_method: string, { options }: { readonly options: typeof offered }) => {
      offered = options
      return { outcome: { outcome: 'selected', optionId: 'allow_once' } }
    },
  }
  const interactor = acpInteractor({
    client: client as never, sessionId: 's', capabilities: {}, clientName: 'x', updates: { shown: () => undefined },
  })
  const approval: Partial<ApprovalRequest> = {
    callId: 'c1', tool: 'go', label: 'Go', origin: 'global extension ship 1.0.0', approvalKey: 'k', reasons: [],
    mode: 'external', kind: 'other', touches: [], mayTouch: [], argumentsText: '{}',
    answers: [{ decision: 'once', covers: 'call', words: 'this call' }], passkey: { nonce: 'n', credentials: [] },
  }
  const request = { kind: 'Approve', approval: approval as ApprovalRequest } as const
  expect(await interactor.interact({ request } as InteractionEnvelope, new AbortController().signal))
    .toMatchObject({ status: 'rejected' })
  expect(offered.map(({ optionId }) => optionId)).toEqual(['reject_once', 'later', 'reject_always'])
})
