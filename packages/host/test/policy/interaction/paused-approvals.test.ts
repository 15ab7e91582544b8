import type { ApprovalRequest, ErrorOutcome, Outcome } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { createProgrammaticInteractor } from '../../../src/embedder.ts'
import type { SessionOptions } from '../../../src/index.ts'
import { flush, ManualClock } from '../../twin/clock.ts'
import { ScriptedApprover } from '../../twin/people.ts'
import { MemoryStore } from '../../twin/store.ts'
import type { ExtensionSketch } from '../../twin/world.ts'
import { ask, asking, opened, pausedIn } from './asking.ts'

const GATED: ExtensionSketch = {
  tools: {
    send: {
      requires: {}, mode: 'safe_write', gated: true, approvalKey: '{to}', execute: async ({ to }) => `to ${String(to)}`,
    },
  },
}
const CALL = { id: 's1', name: 'send', arguments: { to: 'ada' } }
const PAUSES: SessionOptions = { pause: true, mode: 'ask' }

const questionIn = (outcome: Outcome) =>
  ((outcome as ErrorOutcome).error.data as unknown as {
    readonly question: { readonly kind: string; readonly approval: ApprovalRequest }
  }).question

describe('an approval that no one answers', () => {
  test('ends the call until it is answered, also in another host', async () => {
    const store = new MemoryStore()
    const first = await opened(store, GATED, PAUSES)
    const outcome = await first.session.call(CALL)
    const id = pausedIn(outcome)
    expect(questionIn(outcome)).toMatchObject({ kind: 'Approve', approval: { tool: 'send', approvalKey: 'ada' } })
    expect(await first.world.host.pausedCalls()).toMatchObject([{ id, call: CALL, question: { kind: 'Approve' } }])
    await first.world.host.close()
    const { world, session } = await opened(store, GATED, PAUSES)
    expect(await session.resume(id, { decision: 'once' }))
      .toMatchObject({ data: 'to ada', metadata: { call_id: 's1' } })
    expect(await world.host.pausedCalls()).toEqual([])
    expect(session.approvals()).toEqual([])
    // It was for one call.
    pausedIn(await session.call({ ...CALL, id: 's2' }))
  })

  test('that is answered for the session covers later calls of the session that continues it', async () => {
    const { session } = await opened(new MemoryStore(), GATED, PAUSES)
    expect(await session.resume(pausedIn(await session.call(CALL)), 'session')).toMatchObject({ data: 'to ada' })
    expect(await session.call({ ...CALL, id: 's2' })).toMatchObject({ data: 'to ada' })
  })

  test('that is rejected ends the call for good', async () => {
    const { world, session } = await opened(new MemoryStore(), GATED, PAUSES)
    const id = pausedIn(await session.call(CALL))
    expect(await session.resume(id, { decision: 'reject', reason: 'not him' }))
      .toMatchObject({ error: { code: 'ApprovalDenied' }, error_text: expect.stringContaining('not him') })
    expect(await world.host.pausedCalls()).toEqual([])
  })

  test('stays open after an answer that is none', async () => {
    const { world, session } = await opened(new MemoryStore(), GATED, PAUSES)
    const id = pausedIn(await session.call(CALL))
    for (const answer of [undefined, true, 'yes', { decision: 'always' }]) {
      await expect(session.resume(id, answer)).rejects.toMatchObject({ code: 'InputInvalid' })
    }
    expect(await world.host.pausedCalls()).toMatchObject([{ status: 'clarification_needed' }])
  })

  test('is asked again if the question is another one now', async () => {
    const store = new MemoryStore()
    const id = pausedIn(await (await opened(store, GATED, PAUSES)).session.call(CALL))
    const watchdog: SessionOptions['watchdog'] = () => ({ action: 'ask', reason: 'it is late' })
    const { session } = await opened(store, GATED, { ...PAUSES, watchdog })
    const again = await session.resume(id, 'once')
    expect(pausedIn(again)).toBe(id)
    expect(questionIn(again).approval.reasons).toContain('it is late')
    expect(await session.resume(id, 'once')).toMatchObject({ data: 'to ada' })
  })

  test('does not answer for a rule that denies the call now', async () => {
    const store = new MemoryStore()
    const id = pausedIn(await (await opened(store, GATED, PAUSES)).session.call(CALL))
    const rules = [{ permission: 'send', pattern: '*', action: 'deny' }] as const
    const { session } = await opened(store, GATED, { ...PAUSES, rules })
    expect(await session.resume(id, 'once')).toMatchObject({ error: { code: 'RuleDenied' } })
  })

  test('does not count for another version of the tool', async () => {
    const store = new MemoryStore()
    const id = pausedIn(await (await opened(store, GATED, PAUSES)).session.call(CALL))
    const { session } = await opened(store, { ...GATED, version: '2.0.0' }, PAUSES)
    expect(pausedIn(await session.resume(id, 'once'))).toBe(id)
  })

  test('is kept when the tool then asks a question that no one answers', async () => {
    const quiz = asking([ask('Which ship?')])
    const gated = { tools: { quiz: { ...quiz.tools!['quiz']!, gated: true } } }
    const { session } = await opened(new MemoryStore(), gated, PAUSES)
    const id = pausedIn(await session.call({ id: 'q', name: 'quiz', arguments: {} }))
    const second = await session.resume(id, 'once')
    expect(questionIn(second)).toEqual(ask('Which ship?'))
    expect(await session.resume(id, 'Fram')).toMatchObject({ data: ['Fram'] })
  })

  test('is stored when no one answered in time', async () => {
    const clock = new ManualClock()
    const interactor = createProgrammaticInteractor()
    const options = { ...PAUSES, interactor, interactionTimeoutMs: 500 }
    const { session } = await opened(new MemoryStore(), GATED, options, { clock })
    const outcome = session.call(CALL)
    await flush()
    expect(interactor.pending).toHaveLength(1)
    await clock.advance(500)
    expect(await session.resume(pausedIn(await outcome), 'once')).toMatchObject({ data: 'to ada' })
    expect(interactor.pending).toEqual([])
  })

  test('is a no in a session that does not pause, and where someone says no', async () => {
    const quiet = await opened(new MemoryStore(), GATED, { mode: 'ask' })
    expect(await quiet.session.call(CALL)).toMatchObject({ error: { code: 'ApprovalDenied' } })
    const approver = new ScriptedApprover('reject')
    const { session } = await opened(new MemoryStore(), GATED, { ...PAUSES, approver })
    expect(await session.call(CALL)).toMatchObject({ error: { code: 'ApprovalDenied' } })
  })
})
