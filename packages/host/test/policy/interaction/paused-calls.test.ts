import type { InteractionRequest } from '@bulkhead/contract'
import { toMorphix } from '@bulkhead/contract/dialects'
import { describe, expect, test } from 'vitest'
import type { SessionOptions } from '../../../src/index.ts'
import { createProgrammaticInteractor } from '../../../src/embedder.ts'
import { flush, ManualClock } from '../../twin/clock.ts'
import { ScriptedApprover } from '../../twin/people.ts'
import { MemoryStore } from '../../twin/store.ts'
import { verdictOf, type ExtensionSketch } from '../../twin/world.ts'
import { ask, asking, CALL, opened, pausedIn } from './asking.ts'

describe('morphix: an unanswered question', () => {
  test('ends the call as clarification_needed, and is stored with its call', async () => {
    const { world, session } = await opened(new MemoryStore(), asking([ask('Which ship?')]))
    const outcome = await session.call(CALL)
    expect(outcome).toMatchObject({
      type: 'error', error: { code: 'ClarificationNeeded', data: { question: ask('Which ship?') } },
      error_text: expect.stringContaining('Which ship?'),
      completion: {
        terminal: true, nextAction: 'clarification_needed', message: expect.stringContaining('Which ship?'),
      },
    })
    expect(toMorphix(outcome)).toMatchObject({ status: 'clarification_needed', clarification_question: 'Which ship?' })
    expect(await world.host.pausedCalls()).toEqual([
      {
        id: pausedIn(outcome), status: 'clarification_needed', sessionId: session.id, call: CALL,
        question: ask('Which ship?'), pausedAt: expect.stringMatching(/Z$/),
      },
    ])
  })

  test('survives a restart of the host, and the call continues with the answer', async () => {
    const store = new MemoryStore()
    const first = await opened(store, asking([ask('Which ship?')]))
    const id = pausedIn(await first.session.call(CALL))
    await first.world.host.close()
    const { world, session } = await opened(store, asking([ask('Which ship?')]))
    expect(await session.resume(id, 'the Fram')).toMatchObject({ data: ['the Fram'], metadata: { call_id: 'q1' } })
    expect(await world.host.pausedCalls()).toEqual([])
    await expect(session.resume(id, 'the Maud')).rejects.toMatchObject({ code: 'InteractionAlreadyAnswered' })
  })

  test('is stored with the original arguments: a watchdog changes them again, once', async () => {
    const louder: SessionOptions = {
      pause: true,
      watchdog: ({ args }) => ({
        action: 'change', arguments: { about: `${String(args['about']).replace(/!$/, '')}!` }, reason: 'louder',
      }),
    }
    const { world, session } = await opened(new MemoryStore(), asking([ask('Which ship?')]), louder)
    const id = pausedIn(await session.call(CALL))
    expect(await world.host.pausedCalls()).toMatchObject([{ call: CALL }])
    expect(await session.resume(id, 'the Fram')).toMatchObject({ data: ['the Fram'] })
    expect(world.compartment().calls.map(({ args }) => args)).toEqual([{ about: 'ships!' }, { about: 'ships!' }])
  })

  test('several questions: each pause keeps the earlier answers', async () => {
    const store = new MemoryStore()
    const quiz = asking([ask('Ship?'), { kind: 'Confirm', prompt: 'Sure?' }, ask('Port?')])
    let { session } = await opened(store, quiz)
    const id = pausedIn(await session.call(CALL))
    for (const answer of ['Fram', true]) {
      session = (await opened(store, quiz)).session
      expect(pausedIn(await session.resume(id, answer))).toBe(id)
    }
    expect(await session.resume(id, 'Oslo')).toMatchObject({ data: ['Fram', true, 'Oslo'] })
  })

  test('a question that timed out is stored too, and an answered one is not', async () => {
    const clock = new ManualClock()
    const person = createProgrammaticInteractor()
    const options = { pause: true, interactor: person, interactionTimeoutMs: 500 }
    const store = new MemoryStore()
    const { session } = await opened(store, asking([ask('Ship?'), ask('Port?')]), options, { clock })
    const outcome = session.call(CALL)
    await flush()
    person.answer(person.pending[0]!.correlationId, { status: 'accepted', value: 'Fram' })
    await clock.advance(500)
    const id = pausedIn(await outcome)
    expect(await session.resume(id, 'Oslo')).toMatchObject({ data: ['Fram', 'Oslo'] })
    expect(person.pending).toEqual([])
  })
})

describe('an answer', () => {
  test('of the wrong kind is rejected, and the question stays open', async () => {
    const { world, session } = await opened(new MemoryStore(), asking([{ kind: 'Confirm', prompt: 'Sure?' }]))
    const id = pausedIn(await session.call(CALL))
    for (const answer of ['yes', undefined]) {
      await expect(session.resume(id, answer)).rejects.toMatchObject({ code: 'InputInvalid' })
    }
    expect(await world.host.pausedCalls()).toMatchObject([{ status: 'clarification_needed' }])
    expect(await session.resume(id, false)).toMatchObject({ data: [false] })
  })

  test('is accepted once: while the call continues, another one is too late', async () => {
    const gate = Promise.withResolvers<string>()
    const slow = asking([ask('Ship?')])
    const { execute, ...tool } = slow.tools!['quiz']!
    const quiz: ExtensionSketch = {
      tools: {
        quiz: { ...tool, execute: async (args, runtime) => [await execute!(args, runtime), await gate.promise] },
      },
    }
    const { session } = await opened(new MemoryStore(), quiz)
    const id = pausedIn(await session.call(CALL))
    const going = session.resume(id, 'Fram')
    await flush()
    await expect(session.resume(id, 'Maud')).rejects.toMatchObject({ code: 'InteractionAlreadyAnswered' })
    gate.resolve('done')
    expect(await going).toMatchObject({ data: [['Fram'], 'done'] })
  })

  test('is not lost if the host ends before the call uses it', async () => {
    const store = new MemoryStore()
    const first = await opened(store, asking([ask('Ship?')]))
    const id = pausedIn(await first.session.call(CALL))
    const tool = { mode: 'read', gated: false, requires: {}, execute: () => new Promise(() => {}) } as const
    const hanging = asking([], { tools: { quiz: tool } })
    const second = await opened(store, hanging)
    const going = second.session.resume(id, 'Fram')
    await flush()
    await second.session.close()
    expect(verdictOf(await going)).toBe('SessionCancelled')
    const third = await opened(store, asking([ask('Ship?')]))
    expect(await third.world.host.pausedCalls()).toMatchObject([{ id, status: 'answered' }])
    await expect(third.session.resume(id, 'Maud')).rejects.toMatchObject({ code: 'InteractionAlreadyAnswered' })
    expect(await third.session.resume(id)).toMatchObject({ data: ['Fram'] })
  })

  test.each([
    ['host', 'claimed'], ['host', 'released'], ['session', 'claimed'],
  ])('delays the end of the %s while its call is %s', async (who, step) => {
    const store = new MemoryStore()
    const { world, session } = await opened(store, asking([ask('Which ship?')]))
    const id = pausedIn(await session.call(CALL))
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const update = store.update.bind(store)
    let updates = 0
    const slowly = async <Value,>(change: () => Promise<Value>): Promise<Value> => {
      reached.resolve()
      await gate.promise
      return change()
    }
    store.update = (...args) => {
      const isMeant = args[0] === 'paused' && ++updates === (step === 'claimed' ? 1 : 2)
      return isMeant ? slowly(() => update(...args)) : update(...args)
    }
    const resumed = session.resume(id, 'the Fram')
    await reached.promise
    let isClosed = false
    const closing = (who === 'host' ? world.host : session).close().then(() => {
      isClosed = true
    })
    await flush()
    expect(isClosed).toBe(false)
    gate.resolve()
    await closing
    // Without a run it must have no owner: the process still lives, and so would its claim.
    expect((await store.list('paused')).map(({ value }) => value)).toEqual(
      [who === 'host' ? { endedAt: expect.any(Number) }
        : expect.not.objectContaining({ claimedBy: expect.anything() })],
    )
    expect(verdictOf(await resumed)).toBe(who === 'host' ? 'output' : 'SessionCancelled')
  })

  test('is not lost if the call may not continue, unless a person rejects it', async () => {
    const store = new MemoryStore()
    const first = await opened(store, asking([ask('Ship?')]))
    const id = pausedIn(await first.session.call(CALL))
    const rule = { permission: 'quiz', pattern: '*' }
    const denying = await opened(store, asking([ask('Ship?')]), { rules: [{ ...rule, action: 'deny' }] })
    expect(verdictOf(await denying.session.resume(id, 'Fram'))).toBe('RuleDenied')
    const alone = await opened(store, asking([ask('Ship?')]), { rules: [{ ...rule, action: 'ask' }] })
    expect(verdictOf(await alone.session.resume(id))).toBe('ApprovalDenied')
    expect(await alone.world.host.pausedCalls()).toMatchObject([{ id, status: 'answered' }])
    const refusing = await opened(store, asking([ask('Ship?')]), {
      rules: [{ ...rule, action: 'ask' }], approver: new ScriptedApprover('reject'),
    })
    expect(verdictOf(await refusing.session.resume(id))).toBe('ApprovalDenied')
    expect(await refusing.world.host.pausedCalls()).toEqual([])
  })

  test('goes to the tool and the question that it is for, not to a replacement', async () => {
    const store = new MemoryStore()
    const { session } = await opened(store, asking([ask('Ship?')]))
    const id = pausedIn(await session.call(CALL))
    const changed = await opened(store, asking([ask('Ship?')], { bytes: 'other' }))
    expect(pausedIn(await changed.session.resume(id, 'Fram'))).toBe(id)
    const other = await opened(store, asking([ask('Password of the bank?')], { bytes: 'other' }))
    expect(pausedIn(await other.session.resume(id, 'Maud'))).toBe(id)
  })
})

test('a password is never stored, asked for later or replayed', async () => {
  const store = new MemoryStore()
  const password: InteractionRequest = { kind: 'Auth.Password', prompt: 'Password?' }
  const lonely = await opened(store, asking([password]))
  expect(verdictOf(await lonely.session.call(CALL))).toBe('InteractionUnavailable')
  const person = createProgrammaticInteractor()
  person.onQuestion(({ correlationId, request: { kind } }) =>
    queueMicrotask(() =>
      person.answer(
        correlationId, kind === 'Auth.Password' ? { status: 'accepted', value: 'hunter2' } : { status: 'timeout' },
      ),
    ),
  )
  const { session } = await opened(store, asking([password, ask('Ship?')]), { pause: true, interactor: person })
  const id = pausedIn(await session.call(CALL))
  expect(JSON.stringify(await store.list('paused'))).not.toContain('hunter2')
  expect(await session.resume(id, 'Fram')).toMatchObject({ data: ['hunter2', 'Fram'] })
})

test('a sub-agent pauses if its parent does', async () => {
  const { session } = await opened(new MemoryStore(), asking([ask('Ship?')]))
  const subagent = await session.openSubagent()
  expect(verdictOf(await subagent.call(CALL))).toBe('ClarificationNeeded')
  const without = await session.openSubagent({ pause: false })
  expect(verdictOf(await without.call(CALL))).toBe('InteractionUnavailable')
})

test('a call fails without pauses, a paused call can be dropped, and a store failure is reported', async () => {
  const store = new MemoryStore()
  const { session: plain } = await opened(store, asking([ask('Ship?')]), {})
  expect(verdictOf(await plain.call(CALL))).toBe('InteractionUnavailable')
  const { world, session } = await opened(store, asking([ask('Ship?')]))
  await world.host.forgetPaused(pausedIn(await session.call(CALL)))
  expect(await world.host.pausedCalls()).toEqual([])
  store.failing = true
  expect(verdictOf(await session.call(CALL))).toBe('StoreUnavailable')
})
