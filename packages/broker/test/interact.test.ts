import { DEFAULT_LIMITS } from '@bulkhead/contract'
import type { CompartmentServices, InteractionRequest, InteractionResponse } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { Broker } from '../src/broker.ts'
import { toolOf } from './fixture.ts'

const tool = toolOf('asker', { capabilities: ['interact'] })

/** A person who answers when the test says so, and two calls that may ask questions. */
function setUp() {
  const asked: string[] = []
  const answers: ((response: InteractionResponse) => void)[] = []
  const interact: NonNullable<CompartmentServices['interact']> = (callId) => {
    asked.push(String(callId))
    return new Promise((answer) => void answers.push(answer))
  }
  const services = { log: () => undefined, env: new Map(), envDeclared: new Set<string>(), interact }
  const broker = new Broker({ tools: [tool], services, limits: DEFAULT_LIMITS }, '/nowhere')
  const flooder = new AbortController()
  broker.open({ callId: 'flooder', tool, signal: flooder.signal })
  broker.open({ callId: 'other', hostCallId: 'the other', tool, signal: new AbortController().signal })
  const ask = (callId: string) => broker.methods.interact(callId, { kind: 'Ask', prompt: 'Who?' })
  return { asked, answers, ask, flooder }
}

it('asks one question per call at a time and lets other calls ask in between', async () => {
  const { asked, answers, ask } = setUp()
  const flood = Array.from({ length: 1_000 }, () => ask('flooder'))
  void ask('other')
  await new Promise((turn) => void setImmediate(turn))
  expect(asked).toEqual(['flooder', 'the other'])
  answers[0]!({ status: 'accepted', value: 'Ada' })
  expect(await flood[0]).toEqual({ status: 'accepted', value: 'Ada' })
  await new Promise((turn) => void setImmediate(turn))
  expect(asked).toEqual(['flooder', 'the other', 'flooder'])
})

it('rejects queued questions as soon as their call ends', async () => {
  const { asked, ask, flooder } = setUp()
  void ask('flooder').catch(() => undefined)
  const waiting = ask('flooder')
  flooder.abort(new Error('over'))
  await expect(waiting).rejects.toBeDefined()
  expect(asked).toEqual(['flooder'])
})

/** The request that reaches the person when a call sends `given`. */
async function forwarded(given: Json, isThere = true): Promise<InteractionRequest> {
  let request: InteractionRequest | undefined
  const interact: NonNullable<CompartmentServices['interact']> = (_call, asked) => {
    request = asked
    return Promise.resolve({ status: 'timeout' })
  }
  const all = { log: () => undefined, env: new Map(), envDeclared: new Set<string>(), ...(isThere && { interact }) }
  const broker = new Broker({ tools: [tool], services: all, limits: DEFAULT_LIMITS }, '/nowhere')
  broker.open({ callId: 'call', tool, signal: new AbortController().signal })
  await broker.methods.interact('call', given)
  return request!
}

it('rebuilds a question from the known fields of its kind', async () => {
  expect(await forwarded({ kind: 'Ask', prompt: 'Who?', approval: true })).toEqual({ kind: 'Ask', prompt: 'Who?' })
  expect(await forwarded({
    kind: 'Select', prompt: 'Which?', options: [{ label: 'a', extra: 1 }, { label: 'b', description: 'the other' }],
    multiple: 1,
  }))
    .toEqual({
      kind: 'Select', prompt: 'Which?', options: [{ label: 'a' }, { label: 'b', description: 'the other' }],
      multiple: false,
    })
  expect(await forwarded(
    { kind: 'Select', prompt: 'Which?', options: Array.from({ length: 100 }, () => ({ label: 'a' })), multiple: true },
  ))
    .toMatchObject({ options: { length: 100 }, multiple: true })
  const longest = { kind: 'Ask', prompt: 'x'.repeat(10_000) } as const
  expect(await forwarded(longest)).toEqual(longest)
  expect(await forwarded({ kind: 'Auth.DeviceCode', url: 'https://x.test', code: 'AB', expiresAt: 'soon', hidden: 1 }))
    .toEqual({ kind: 'Auth.DeviceCode', url: 'https://x.test', code: 'AB', expiresAt: 'soon' })
})

it.each<[string, Json]>([
  ['that is not an object', 'Who?'],
  ['that is null', null],
  ['of a kind that only the host may use', { kind: 'Approve', prompt: 'May I?' }],
  ['without a prompt', { kind: 'Confirm' }],
  ['with a prompt that is too long', { kind: 'Ask', prompt: 'x'.repeat(10_001) }],
  ['without options', { kind: 'Select', prompt: 'Which?', options: [] }],
  ['with options that are not an array', { kind: 'Select', prompt: 'Which?', options: { length: 1 } }],
  ['with too many options', {
    kind: 'Select', prompt: 'Which?', options: Array.from({ length: 101 }, () => ({ label: 'a' })),
  }],
  ['with an option that is not an object', { kind: 'Select', prompt: 'Which?', options: ['a'] }],
  ['with an option that is null', { kind: 'Select', prompt: 'Which?', options: [null] }],
  ['with a description that is not a string', {
    kind: 'Select', prompt: 'Which?', options: [{ label: 'a', description: 1 }],
  }],
])('rejects a question %s', async (_, given) => {
  await expect(forwarded(given)).rejects.toMatchObject({ code: 'InputInvalid' })
})

it('rejects a question when no person is available', async () => {
  await expect(forwarded({ kind: 'Ask', prompt: 'Who?' }, false))
    .rejects.toMatchObject({ code: 'InteractionUnavailable' })
})
