import type { CallSteps } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { expect, test } from 'vitest'
import { KeptSteps, readSteps } from '../../src/records/kept-steps.ts'
import { ManualClock } from '../twin/clock.ts'
import { MemoryStore } from '../twin/store.ts'
import { createWorld, verdictOf, type TwinRuntime } from '../twin/world.ts'

const stepsIn = (store?: MemoryStore, digest = 'd') => new KeptSteps({ store, digest, place: 'w/k', now: () => 0 })

/** As a tool runs a step. */
async function step(steps: CallSteps, name: string, work: () => Json | Promise<Json>): Promise<Json> {
  const kept = await steps.begin(name)
  if (kept) return kept.result
  const result = await work()
  await steps.end(name, result)
  return result
}

test('a step that has returned is not run again by a later run of its call', async () => {
  const store = new MemoryStore()
  expect(await step(stepsIn(store), 'one', () => ({ n: 1 }))).toEqual({ n: 1 })
  const later = stepsIn(store)
  expect(await step(later, 'one', () => 'again')).toEqual({ n: 1 })
  expect(await step(later, 'two', () => null)).toBe(null)
  expect(await readSteps(store, 'w/k')).toEqual(new Map<string, Json>([['one', { n: 1 }], ['two', null]]))
  expect(await step(stepsIn(store, 'other'), 'one', () => 'of another call')).toBe('of another call')
})

test('a step that failed is run again, and nothing of it is kept', async () => {
  const store = new MemoryStore()
  const first = stepsIn(store)
  await first.begin('one')
  await first.end('one')
  expect(await readSteps(store, 'w/k')).toBeUndefined()
  expect(await step(stepsIn(store), 'one', () => 2)).toBe(2)
})

test('without a store the steps are kept for the attempts of the call', async () => {
  const steps = stepsIn()
  await step(steps, 'one', () => 1)
  steps.restart()
  expect(await step(steps, 'one', () => 2)).toBe(1)
})

test('steps run one after the other, and each has its own name', async () => {
  const steps = stepsIn(new MemoryStore())
  const [first, second] = await Promise.allSettled([steps.begin('one'), steps.begin('two')])
  expect([first.status, second]).toMatchObject([
    'fulfilled', { reason: { code: 'InputInvalid', message: expect.stringMatching(/"one" runs/) } },
  ])
  await expect(steps.end('two', 1)).rejects.toMatchObject({ code: 'InputInvalid' })
  await steps.end('one', 1)
  await expect(steps.begin('one')).rejects.toThrow(/Give each its own/)
  await expect(steps.begin('')).rejects.toMatchObject({ code: 'InputInvalid' })
})

test('results have a limit, and a result that cannot be stored is not kept', async () => {
  const store = new MemoryStore()
  const steps = stepsIn(store)
  await steps.begin('long')
  await expect(steps.end('long', 'x'.repeat(1024 ** 2))).rejects.toMatchObject({ code: 'OutputTooLarge' })
  await steps.begin('lost')
  store.failing = true
  await expect(steps.end('lost', 1)).rejects.toMatchObject({ code: 'StoreUnavailable' })
  store.failing = false
  expect([steps.isKept('lost'), steps.open, await readSteps(store, 'w/k')]).toEqual([false, undefined, undefined])
})

/** A tool with two steps around a question. */
async function asking(store: MemoryStore, clock = new ManualClock()) {
  const ran: string[] = []
  const world = createWorld({ store, clock, extensions: [{ tools: { echo: {
    requires: { capabilities: ['interact'] },
    execute: async (_, { services, callId, signal }: TwinRuntime) => {
      const { steps } = world.compartment().calls.at(-1)!
      await step(steps!, 'one', () => ran.push('one'))
      await services.interact!(callId, { kind: 'Ask', prompt: 'Why?' }, signal)
      return step(steps!, 'two', () => ran.push('two'))
    },
  } } }] })
  const session = await world.host.openSession({ mode: 'yolo', pause: true })
  return { session, ran, clock }
}

test('a call that paused continues after the steps that it had done, in another host and after days', async () => {
  const store = new MemoryStore()
  const { session, ran, clock } = await asking(store)
  const paused = await session.call({ id: 'a', name: 'echo', arguments: {} })
  expect([verdictOf(paused), ran]).toEqual(['ClarificationNeeded', ['one']])
  const next = await asking(store, clock)
  await clock.advance(3 * 24 * 60 * 60 * 1000)
  // A key of another call removes what is too old.
  await next.session.call({ id: 'b', name: 'echo', arguments: {}, idempotencyKey: 'k' })
  next.ran.length = 0
  const stored = (await store.list('paused')).map(({ value }) => value as { id: string; call: { id: string } })
  const { id } = stored.find(({ call }) => call.id === 'a')!
  expect(await next.session.resume(id, 'because')).toMatchObject({ data: 1 })
  expect(next.ran).toEqual(['two'])
  expect((await store.list('outcome')).filter(({ key }) => key.endsWith('/steps'))).toHaveLength(1)
})

test.each<[string, 'once' | 'idempotent', string | undefined, string]>([
  ['outside of steps', 'once', undefined, 'InteractionUnavailable'],
  ['in a step that is kept', 'once', 'one', 'ClarificationNeeded'],
  ['that may be repeated', 'idempotent', undefined, 'ClarificationNeeded'],
])('a call that began something %s does not wait if it would repeat that', async (_, effects, inStep, expected) => {
  const world = createWorld({ store: new MemoryStore(), extensions: [{ tools: { echo: {
    requires: { fs: { write: ['{workspace}'] }, capabilities: ['interact'] }, effects,
    execute: async (__, { services, callId, signal }: TwinRuntime) => {
      const call = world.compartment().calls.at(-1)!
      const act = async () => {
        await call.beginEffect!('writes a.ts')
        return null
      }
      await (inStep === undefined ? act() : step(call.steps!, inStep, act))
      await services.interact!(callId, { kind: 'Ask', prompt: 'Why?' }, signal)
    },
  } } }] })
  const session = await world.host.openSession({ mode: 'yolo', pause: true })
  const outcome = await session.call({ id: 'a', name: 'echo', arguments: {} })
  expect(verdictOf(outcome)).toBe(expected)
  expect(await world.host.pausedCalls()).toHaveLength(expected === 'ClarificationNeeded' ? 1 : 0)
})

test('a later attempt of a call does not repeat a step', async () => {
  const ran: string[] = []
  const clock = new ManualClock()
  let tries = 0
  const world = createWorld({ clock, store: new MemoryStore(), extensions: [{ tools: { echo: { execute: async () => {
    const { steps } = world.compartment().calls.at(-1)!
    await step(steps!, 'one', () => ran.push('one'))
    if (tries++ === 0) throw Object.assign(new Error('busy'), { code: 'ResourceBusy' })
    return step(steps!, 'two', () => ran.push('two'))
  } } } }] })
  const session = await world.host.openSession({ mode: 'yolo' })
  const outcome = session.call({ id: 'a', name: 'echo', arguments: {} })
  await clock.advance(10_000)
  expect(await outcome).toMatchObject({ type: 'output', metadata: { attempt: 2 } })
  expect(ran).toEqual(['one', 'two'])
})
