import { DEFAULT_LIMITS } from '@bulkhead/contract'
import type { CompartmentServices, InteractionRequest, InteractionResponse } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { Broker } from '../src/broker.ts'
import { toolOf } from './fixture.ts'

const tool = toolOf('asker', { capabilities: ['interact'] })

/** People who answer when the test says so, and two calls that may ask them. */
function ground() {
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

it('a call that asks a thousand questions asks one, and others come in between', async () => {
  const { asked, answers, ask } = ground()
  const flood = Array.from({ length: 1_000 }, () => ask('flooder'))
  void ask('other')
  await new Promise((turn) => void setImmediate(turn))
  expect(asked).toEqual(['flooder', 'the other'])
  answers[0]!({ status: 'accepted', value: 'Ada' })
  expect(await flood[0]).toEqual({ status: 'accepted', value: 'Ada' })
  await new Promise((turn) => void setImmediate(turn))
  expect(asked).toEqual(['flooder', 'the other', 'flooder'])
})

it('queued questions reject at once when their call ends', async () => {
  const { asked, ask, flooder } = ground()
  void ask('flooder').catch(() => undefined)
  const waiting = ask('flooder')
  flooder.abort(new Error('over'))
  await expect(waiting).rejects.toBeDefined()
  expect(asked).toEqual(['flooder'])
})

/** What a person was asked when a call gave this away. */
async function heard(given: Json, isThere = true): Promise<InteractionRequest> {
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

it('a question is rebuilt from the known fields of its kind', async () => {
  expect(await heard({ kind: 'Ask', prompt: 'Who?', approval: true })).toEqual({ kind: 'Ask', prompt: 'Who?' })
  expect(await heard({ kind: 'Select', prompt: 'Which?', options: [{ label: 'a', extra: 1 }, { label: 'b', description: 'the other' }], multiple: 1 }))
    .toEqual({ kind: 'Select', prompt: 'Which?', options: [{ label: 'a' }, { label: 'b', description: 'the other' }], multiple: false })
  expect(await heard({ kind: 'Select', prompt: 'Which?', options: Array.from({ length: 100 }, () => ({ label: 'a' })), multiple: true }))
    .toMatchObject({ options: { length: 100 }, multiple: true })
  const longest = { kind: 'Ask', prompt: 'x'.repeat(10_000) } as const
  expect(await heard(longest)).toEqual(longest)
  expect(await heard({ kind: 'Auth.DeviceCode', url: 'https://x.test', code: 'AB', expiresAt: 'soon', hidden: 1 }))
    .toEqual({ kind: 'Auth.DeviceCode', url: 'https://x.test', code: 'AB', expiresAt: 'soon' })
})

it.each<[string, Json]>([
  ['no object', 'Who?'],
  ['nothing', null],
  ['of a kind that is the host\'s own', { kind: 'Approve', prompt: 'May I?' }],
  ['without a text', { kind: 'Confirm' }],
  ['longer than anybody reads', { kind: 'Ask', prompt: 'x'.repeat(10_001) }],
  ['without options', { kind: 'Select', prompt: 'Which?', options: [] }],
  ['with options that are no list', { kind: 'Select', prompt: 'Which?', options: { length: 1 } }],
  ['with more options than anybody reads', { kind: 'Select', prompt: 'Which?', options: Array.from({ length: 101 }, () => ({ label: 'a' })) }],
  ['with an option that is no object', { kind: 'Select', prompt: 'Which?', options: ['a'] }],
  ['with an option that is nothing', { kind: 'Select', prompt: 'Which?', options: [null] }],
  ['with a description that is no text', { kind: 'Select', prompt: 'Which?', options: [{ label: 'a', description: 1 }] }],
])('a question %s reaches no user', async (_, given) => {
  await expect(heard(given)).rejects.toMatchObject({ code: 'InputInvalid' })
})

it('a question without a user is refused', async () => {
  await expect(heard({ kind: 'Ask', prompt: 'Who?' }, false)).rejects.toMatchObject({ code: 'InteractionUnavailable' })
})
