import type { InteractionRequest, InteractionResponse, Interactor } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { describe, expect, test } from 'vitest'
import { createProgrammaticInteractor } from '../../../src/embedder.ts'
import { flush, ManualClock } from '../../twin/clock.ts'
import { ScriptedInteractor } from '../../twin/people.ts'
import { createWorld, verdictOf, type TwinRuntime } from '../../twin/world.ts'

const ASK: InteractionRequest = { kind: 'Ask', prompt: 'Which one?' }

/** A tool that returns the answer. */
const asking = (request: InteractionRequest = ASK) => ({
  extensions: [{
    tools: {
      echo: {
        requires: { capabilities: ['interact' as const] }, mode: 'safe_write' as const, gated: false,
        execute: (_: unknown, { services, callId, signal }: TwinRuntime) => services.interact!(callId, request, signal),
      },
    },
  }],
})
const call = { id: 'c', name: 'echo', arguments: {} }
const saying = (response: unknown) => new ScriptedInteractor(() => response as InteractionResponse)
const failing: Interactor = { interact: async () => { throw new Error('the window closed') } }

async function answerOf(interactor: Interactor | readonly Interactor[], request?: InteractionRequest) {
  const world = createWorld(asking(request))
  const session = await world.host.openSession({ interactor })
  return { world, outcome: await session.call(call) }
}

describe('stud: several interactors', () => {
  test('the first answer wins, the other interactors are aborted, and a late answer is rejected', async () => {
    const people = [createProgrammaticInteractor(), createProgrammaticInteractor()]
    const session = await createWorld(asking()).host.openSession({ interactor: people })
    const outcome = session.call(call)
    await flush()
    const [first, second] = people.map((person) => person.pending[0]!.correlationId)
    expect(first).toBe(second)
    people[1]!.answer(second!, { status: 'accepted', value: 'mine' })
    expect(await outcome).toMatchObject({ data: { value: 'mine' } })
    await flush()
    expect(people.map(({ pending }) => pending)).toEqual([[], []])
    for (const person of people) {
      expect(() => person.answer(first!, { status: 'accepted', value: 'late' }))
        .toThrowError(expect.objectContaining({ code: 'InteractionAlreadyAnswered' }))
    }
  })

  test('the abort reason is that another interactor answered', async () => {
    const dismissed = Promise.withResolvers<unknown>()
    const slow: Interactor = {
      interact: (_, signal) => new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => { dismissed.resolve(signal.reason); reject(signal.reason) })
      }),
    }
    const { outcome } = await answerOf([slow, saying({ status: 'accepted', value: 'quick' })])
    expect(outcome).toMatchObject({ data: { value: 'quick' } })
    expect(await dismissed.promise).toMatchObject({ code: 'InteractionAlreadyAnswered' })
  })

  test('an interactor that fails or gives an invalid answer leaves the question to the others', async () => {
    const { outcome } = await answerOf([
      failing, saying({ status: 'maybe' }), saying(7), saying({ status: 'accepted', value: 7 }),
      saying({ status: 'timeout' }), saying({ status: 'accepted', value: 'a text' }),
    ])
    expect(outcome).toMatchObject({ data: { status: 'accepted', value: 'a text' } })
    expect(verdictOf((await answerOf([failing, saying(null)])).outcome)).toBe('InteractionUnavailable')
    expect((await answerOf([failing, saying({ status: 'timeout' })])).outcome).toMatchObject({
      data: { status: 'timeout' },
    })
  })

  test('a rejection is an answer', async () => {
    const { world, outcome } = await answerOf([saying({ status: 'rejected', reason: 'busy' }), failing])
    expect(outcome).toMatchObject({ data: { status: 'rejected', reason: 'busy' } })
    expect(world.eventsOf('InteractionAnswered')).toMatchObject([{ status: 'rejected' }])
  })
})

describe('stud: an answer must fit the kind of the question', () => {
  const select = { kind: 'Select', prompt: '?', options: [{ label: 'a' }, { label: 'b' }] } as const
  const many = { ...select, multiple: true } as const
  const device = {
    kind: 'Auth.DeviceCode', url: 'https://example.com', code: 'X', expiresAt: '2999-01-01T00:00:00Z',
  } as const

  test.each<[InteractionRequest, Json, Json | undefined]>([
    [ASK, 'text', 'text'], [ASK, true, undefined], [{ kind: 'Auth.Password', prompt: '?' }, 'secret', 'secret'],
    [{ kind: 'Auth.Password', prompt: '?' }, null, undefined], [{ kind: 'Confirm', prompt: '?' }, true, true],
    [{ kind: 'Confirm', prompt: '?' }, 'yes', undefined], [select, 'b', 'b'], [select, 'c', undefined],
    [select, ['a'], undefined], [many, ['b', 'a', 'b'], ['b', 'a']], [many, [], []], [many, ['a', 'c'], undefined],
    [many, 'a', undefined],
    [device, 'whatever', null],
  ])('%o answered with %j gives %j', async (request, value, expected) => {
    const { outcome } = await answerOf(saying({ status: 'accepted', value }), request)
    if (expected === undefined) expect(verdictOf(outcome)).toBe('InteractionUnavailable')
    else expect(outcome).toMatchObject({ data: { status: 'accepted', value: expected } })
  })
})

describe('stud: timeouts', () => {
  const silent = new ScriptedInteractor(() => new Promise(() => {}))

  test('a question without an answer in time ends as a timeout and is reported', async () => {
    const clock = new ManualClock()
    const person = createProgrammaticInteractor()
    const world = createWorld({ ...asking(), clock })
    const session = await world.host.openSession({ interactor: [silent, person], interactionTimeoutMs: 500 })
    const outcome = session.call(call)
    await clock.advance(499)
    const { correlationId } = person.pending[0]!
    await clock.advance(1)
    expect(await outcome).toMatchObject({ data: { status: 'timeout' } })
    expect(world.eventsOf('InteractionAnswered')).toMatchObject([{ correlationId, status: 'timeout' }])
    expect(() => person.answer(correlationId, { status: 'accepted', value: 'late' })).toThrowError(/not pending/)
    expect(clock.pending).toBe(0)
  })

  test('an approval that is not given in time denies the call', async () => {
    const clock = new ManualClock()
    const session = await createWorld({ clock }).host.openSession({ interactor: silent, interactionTimeoutMs: 500 })
    const outcome = session.call(call)
    await clock.advance(500)
    expect(await outcome).toMatchObject({
      error: { code: 'ApprovalDenied' }, error_text: expect.stringContaining('in time'),
    })
  })

  test('a device code stays pending until it expires', async () => {
    const clock = new ManualClock()
    const expiresAt = new Date(clock.now() + 300).toISOString()
    const world = createWorld({ ...asking({ kind: 'Auth.DeviceCode', url: 'u', code: 'c', expiresAt }), clock })
    const session = await world.host.openSession({ interactor: silent, interactionTimeoutMs: 5_000 })
    const outcome = session.call(call)
    await clock.advance(300)
    expect(await outcome).toMatchObject({ data: { status: 'timeout' } })
  })

  test('the next question follows a timeout', async () => {
    const clock = new ManualClock()
    const person = createProgrammaticInteractor()
    const session = await createWorld({ ...asking(), clock }).host.openSession({
      interactor: person, interactionTimeoutMs: 500,
    })
    const outcomes = [session.call(call), session.call({ ...call, id: 'd' })]
    await clock.advance(500)
    person.answer(person.pending[0]!.correlationId, { status: 'accepted', value: 'second' })
    expect(await Promise.all(outcomes)).toMatchObject([{ data: { status: 'timeout' } }, { data: { value: 'second' } }])
  })

  test.each([0, -1, Number.NaN])('a timeout of %d ms is rejected', async (interactionTimeoutMs) => {
    await expect(createWorld().host.openSession({ interactionTimeoutMs })).rejects.toMatchObject({
      code: 'ConfigInvalid',
    })
  })
})
