import type { SessionUpdate } from '@agentclientprotocol/sdk'
import type { EventListener } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { CallUpdates } from '../../src/acp/updates.ts'

it('64 updates wait for an editor that does not read; then progress is dropped, and ends are sent', () => {
  const sent: SessionUpdate[] = []
  const client = {
    notify: async (_method: string, { update }: { readonly update: SessionUpdate }) => {
      sent.push(update)
      return new Promise<never>(() => undefined)
    },
  }
  let listener: EventListener | undefined
  let end: ((call: { readonly sessionId: string; readonly callId: string }, outcome: never) => void) | undefined
  const updates = new CallUpdates({ client: client as never, sessionId: 's', cwd: '/', onFault: () => undefined })
  updates.follow(
    {
      on: (given) => {
        listener = given
        return () => undefined
      },
    },
    {
      id: 's', tools: () => [],
      addHooks: ({ afterToolExecution }) => {
        end = afterToolExecution
        return () => undefined
      },
    },
  )
  const common = { sessionId: 's', callId: 'c1', tool: 'watch' }
  listener!({ ...common, type: 'ToolInvocationProposed', args: {} } as never)
  for (let index = 0; index < 100; index++) {
    listener!({ ...common, type: 'ToolInvocationProgress', text: `${index}` } as never)
  }
  expect(sent).toHaveLength(64)
  const error = { code: 'OutcomeUnknown', data: { verify: 'was_paid', began: [] } }
  end!({ sessionId: 's', callId: 'c1' }, { type: 'error', error_text: 'it failed', error } as never)
  // With the tool that finds out whether the effect happened.
  expect(sent.at(-1)).toMatchObject({
    status: 'failed', _meta: { 'bulkhead/error': { code: 'OutcomeUnknown', verify: 'was_paid' } },
  })
})

it('shows the last 10 000 characters of the output of a running call', () => {
  const sent: SessionUpdate[] = []
  const notify = async (_method: string, { update }: { readonly update: SessionUpdate }) => void sent.push(update)
  let listener: EventListener | undefined
  const updates = new CallUpdates({ client: { notify } as never, sessionId: 's', cwd: '/', onFault: () => undefined })
  updates.follow(
    { on: (given) => { listener = given; return () => undefined } },
    { id: 's', tools: () => [], addHooks: () => () => undefined },
  )
  const common = { sessionId: 's', callId: 'c1', tool: 'bash' }
  listener!({ ...common, type: 'ToolInvocationProposed', args: {} } as never)
  for (const text of ['a'.repeat(9_000), 'b'.repeat(9_000)]) {
    listener!({ ...common, type: 'ToolInvocationUpdated', partial: { type: 'shell.output', text } } as never)
  }
  expect(sent.at(-1)).toMatchObject({
    content: [{ content: { text: expect.stringMatching(/^[^ab]*a{1000}b{9000}[^ab]*$/) } }],
  })
})
