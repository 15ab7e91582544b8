import { DEFAULT_LIMITS } from '@bulkhead/contract'
import type { CompartmentServices, InteractionResponse } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { Broker } from '../src/main/broker/broker.ts'
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
  broker.open({ callId: 'other', tool, signal: new AbortController().signal })
  const ask = (callId: string) => broker.methods.interact(callId, { kind: 'Ask', prompt: 'Who?' })
  return { asked, answers, ask, flooder }
}

it('a call that asks a thousand questions asks one, and others come in between', async () => {
  const { asked, answers, ask } = ground()
  const flood = Array.from({ length: 1_000 }, () => ask('flooder'))
  void ask('other')
  await new Promise((turn) => void setImmediate(turn))
  expect(asked).toEqual(['flooder', 'other'])
  answers[0]!({ status: 'accepted', value: 'Ada' })
  expect(await flood[0]).toEqual({ status: 'accepted', value: 'Ada' })
  await new Promise((turn) => void setImmediate(turn))
  expect(asked).toEqual(['flooder', 'other', 'flooder'])
})

it('questions that wait behind another are told at once when their call is over', async () => {
  const { asked, ask, flooder } = ground()
  void ask('flooder').catch(() => undefined)
  const waiting = ask('flooder')
  flooder.abort(new Error('over'))
  await expect(waiting).rejects.toBeDefined()
  expect(asked).toEqual(['flooder'])
})
