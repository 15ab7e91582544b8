import type { Interactor } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { flush } from '../../twin/clock.ts'
import { ScriptedApprover } from '../../twin/people.ts'
import { createWorld, verdictOf, type WorldSketch } from '../../twin/world.ts'

const KEYED: WorldSketch = { extensions: [{ tools: { echo: { approvalKey: '{key}' } } }] }
const CALL = { id: 'a', name: 'echo', arguments: { key: 'a' } }

/** An interactor that answers nothing, and why it was told to stop. */
function silent(): Interactor & { readonly stopped: unknown[] } {
  const stopped: unknown[] = []
  return {
    stopped,
    interact: (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => {
      stopped.push((signal.reason as { code?: unknown }).code)
      reject(signal.reason as Error)
    })),
  }
}

it('an answer at the desk counts like that of an interactor, which is informed', async () => {
  const { host } = createWorld(KEYED)
  const { desk } = host.inside
  const changes: string[] = []
  desk.onChange(({ is, question }) => void changes.push(`${is} ${question.envelope.callId}`))
  const interactor = silent()
  const session = await host.openSession({ interactor })
  const outcome = session.call(CALL)
  await flush()
  const { envelope } = desk.questions[0]!
  expect(envelope).toMatchObject({ sessionId: session.id, callId: 'a', request: { kind: 'Approve' } })
  expect(() => desk.answer(envelope.correlationId, { status: 'accepted', value: 'whatever' }))
    .toThrow(expect.objectContaining({ code: 'InputInvalid' }))
  expect(desk.questions).toHaveLength(1)
  desk.answer(envelope.correlationId, { status: 'accepted', value: { decision: 'once' } })
  expect(verdictOf(await outcome)).toBe('output')
  expect([interactor.stopped, changes, desk.questions])
    .toEqual([['InteractionAlreadyAnswered'], ['open a', 'closed a'], []])
  expect(() => desk.answer(envelope.correlationId, { status: 'accepted', value: 'once' }))
    .toThrow(expect.objectContaining({ code: 'InteractionAlreadyAnswered' }))
})

it('where no person can be asked, no question waits', async () => {
  const { host } = createWorld(KEYED)
  const nobody: Interactor = { isNobody: true, interact: () => Promise.reject(new Error('no one')) }
  for (const options of [{}, { interactor: nobody }]) {
    const session = await host.openSession(options)
    expect(verdictOf(await session.call(CALL))).toBe('ApprovalDenied')
    expect(host.inside.desk.questions).toEqual([])
  }
})

it('what an approver decides is shown and not answered', async () => {
  const { host } = createWorld(KEYED)
  const approver = new ScriptedApprover()
  const session = await host.openSession({ approver })
  const outcome = session.call(CALL)
  await flush()
  const { envelope: { correlationId }, unanswerable } = host.inside.desk.questions[0]!
  expect(unanswerable).toMatch('embedder')
  expect(() => host.inside.desk.answer(correlationId, { status: 'rejected' }))
    .toThrow(expect.objectContaining({ code: 'CapabilityUnavailable' }))
  approver.answer('once')
  expect(verdictOf(await outcome)).toBe('output')
  expect(host.inside.desk.questions).toEqual([])
})

it('a question that is withdrawn leaves the desk', async () => {
  const { host } = createWorld(KEYED)
  const session = await host.openSession({ interactor: silent() })
  const outcome = session.call(CALL)
  await flush()
  session.cancel()
  expect(verdictOf(await outcome)).toBe('SessionCancelled')
  expect(host.inside.desk.questions).toEqual([])
})
