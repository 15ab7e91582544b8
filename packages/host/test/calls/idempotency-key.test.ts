import { expect, test } from 'vitest'
import { BulkheadError, type ErrorOutcome } from '@bulkhead/contract'
import { flush, ManualClock } from '../twin/clock.ts'
import { loggedStore } from '../twin/logged-work.ts'
import { MemoryStore } from '../twin/store.ts'
import { createWorld, verdictOf, type ToolSketch } from '../twin/world.ts'
import { counting } from './counting.ts'

const DAY_MS = 24 * 60 * 60 * 1000

test('a call with a known key is not run again, and has the recorded outcome', async () => {
  const { call, runs } = await counting({ store: new MemoryStore() })
  const first = await call('k', { a: 1 })
  const again = await call('k', { a: 1 })
  expect([first, again]).toMatchObject([{ data: { runs: 1 } }, { data: { runs: 1 } }])
  expect([first.metadata.replayed, again.metadata]).toEqual([undefined, expect.objectContaining({
    call_id: 'c2', attempt: 0, replayed: true,
  })])
  expect([await call('other'), await call(undefined)]).toMatchObject([{ data: { runs: 2 } }, { data: { runs: 3 } }])
  expect(runs()).toBe(3)
})

test('a key holds for other hosts of the store, and not for other principals', async () => {
  const store = new MemoryStore()
  const { call } = await counting({ store })
  await call('k')
  const next = await counting({ store })
  expect((await next.call('k')).metadata.replayed).toBe(true)
  const anna = await next.world.host.openSession({ mode: 'yolo', principal: { id: 'anna' } })
  expect((await next.call('k', {}, 'echo', anna)).metadata.replayed).toBeUndefined()
  expect([(await next.call('k', {}, 'echo', anna)).metadata.replayed, next.runs()]).toEqual([true, 1])
})

test.each([['other arguments', { a: 2 }, 'echo'], ['another tool', { a: 1 }, 'other']])(
  'a key with %s is refused', async (_, args, name) => {
    const { call, runs } = await counting({ store: new MemoryStore() })
    await call('k', { a: 1 })
    expect(verdictOf(await call('k', args, name))).toBe('IdempotencyKeyReused')
    expect(runs()).toBe(1)
  })

test('while the first call runs, a second one with its key is refused', async () => {
  const store = new MemoryStore()
  const go = Promise.withResolvers<void>()
  const owners = { isGone: () => false }
  const waits = { execute: () => go.promise.then(() => 'done') }
  const one = await counting({ store, owner: { id: 'one', ...owners } }, waits)
  const two = await counting({ store, owner: { id: 'two', ...owners } })
  const first = one.call('k')
  await flush()
  const others = [await one.call('k'), await two.call('k')].map(verdictOf)
  expect(others).toEqual(['IdempotencyKeyInUse', 'IdempotencyKeyInUse'])
  go.resolve()
  expect(await first).toMatchObject({ data: 'done' })
  expect(await two.call('k')).toMatchObject({ data: 'done', metadata: { replayed: true } })
  expect([one.runs(), two.runs()]).toEqual([1, 0])
})

test('an error is recorded if the call had begun something, and else the call runs again', async () => {
  const fail: ToolSketch = { execute: () => { throw new Error('wrong') } }
  const failed = ['ToolExecutionFailed', 'ToolExecutionFailed']
  const acted = await counting({ store: new MemoryStore() }, fail)
  expect([await acted.call('k'), await acted.call('k')].map(verdictOf)).toEqual(failed)
  expect(acted.runs()).toBe(1)
  expect(acted.world.eventsOf('ToolInvocationFailed')).toMatchObject([{ attempt: 1 }, { attempt: 0, replayed: true }])
  expect(acted.world.eventsOf('ToolInvocationCancelled')).toEqual([])
  const idle = await counting({ store: new MemoryStore() }, fail, false)
  expect([await idle.call('k'), await idle.call('k')].map(verdictOf)).toEqual(failed)
  expect(idle.runs()).toBe(2)
})

test.each(['StoreUnavailable', 'CompartmentCrashed', 'CompartmentKilled', 'NoWorkerReady'] as const)(
  'a call that may run again does, if its last attempt ended without an answer: %s', async (code) => {
    const execute = () => { throw new BulkheadError(code, 'Call again.') }
    const runsOf = async (effects: 'idempotent' | 'once') => {
      const config = { retries: { attempts: 1 } }
      const { call, runs } = await counting({ store: new MemoryStore(), config }, { execute, effects })
      await call('k')
      await call('k')
      return runs()
    }
    expect([await runsOf('idempotent'), await runsOf('once')]).toEqual([2, 1])
  })

test('a call that is denied claims no key, and gets no recorded outcome', async () => {
  const { world, call } = await counting({ store: new MemoryStore() })
  const rules = [{ permission: 'echo', pattern: '*', action: 'deny' as const }]
  const strict = await world.host.openSession({ mode: 'yolo', rules })
  expect(verdictOf(await call('k', {}, 'echo', strict))).toBe('RuleDenied')
  expect(await call('k')).toMatchObject({ data: { runs: 1 } })
  expect(verdictOf(await call('k', {}, 'echo', strict))).toBe('RuleDenied')
})

test('a call that a person denies leaves its key free', async () => {
  const { world, call } = await counting({ store: new MemoryStore() })
  const approver = { approve: async () => ({ decision: 'reject' as const }) }
  const asked = await world.host.openSession({ mode: 'ask', approver })
  expect(verdictOf(await call('k', {}, 'echo', asked))).toBe('ApprovalDenied')
  expect(await call('k')).toMatchObject({ data: { runs: 1 } })
})

test('a call that has run keeps its outcome when the budget is spent or the hosts are frozen', async () => {
  const { world, call, runs } = await counting({ store: new MemoryStore(), config: { budget: { calls: 1 } } })
  await call('k')
  expect([await call('k'), await call('other')].map(verdictOf)).toEqual(['output', 'BudgetExhausted'])
  await world.host.freeze({ by: 'Ada' })
  expect([await call('k'), await call('third')].map(verdictOf)).toEqual(['output', 'HostFrozen'])
  await world.host.thaw()
  expect([verdictOf(await call('third')), runs()]).toEqual(['BudgetExhausted', 1])
})

test('a call whose effect could not be noted has begun nothing, and leaves its key free', async () => {
  const faults: { begin?: () => Promise<void> } = { begin: () => Promise.reject(new Error('gone')) }
  const { call, runs } = await counting({ store: loggedStore([], faults) })
  expect(verdictOf(await call('k'))).toBe('ToolExecutionFailed')
  faults.begin = async () => undefined
  expect([await call('k'), runs()]).toMatchObject([{ data: { runs: 2 } }, 2])
})

test('a call that could not pass the gate again before its tool started has begun nothing', async () => {
  let [starts, runs] = [0, 0]
  const store = loggedStore([], { start: async () => {
    if (++starts === 2) throw new BulkheadError('StoreUnavailable', 'The seat was lost.')
    return { is: 'started' }
  } })
  // Its start is noted at the gate, and then its compartment starts.
  const echo = { gated: false, execute: () => ++runs }
  const world = createWorld({ store, extensions: [{ inline: true, tools: { echo } }] })
  const session = await world.host.openSession({ mode: 'yolo' })
  const call = (id: string) => session.call({ id, name: 'echo', arguments: {}, idempotencyKey: 'k' })
  expect([await call('a'), await call('b')].map(verdictOf)).toEqual(['StoreUnavailable', 'output'])
  expect(runs).toBe(1)
  expect(world.eventsOf('ToolInvocationFailed')[0]).not.toHaveProperty('began')
})

test('an outcome that cannot be stored is stored later, also after the host lost its seat', async () => {
  const store = new MemoryStore()
  const one = await counting({ store, owner: { id: 'one', isGone: () => false } }, {
    execute: () => {
      store.failing = true
      return 'done'
    },
  })
  expect(await one.call('k')).toMatchObject({ data: 'done' })
  store.failing = false
  const two = await counting({ store, owner: { id: 'two', isGone: () => false } })
  await expect.poll(async () => verdictOf(await two.call('k'))).toBe('output')
  expect([await two.call('k'), two.runs()]).toMatchObject([{ data: 'done' }, 0])
  await expect.poll(() => store.list('call')).toEqual([])
})

test('a host that lost its seat while its tool ran knows the outcome better than those that settled it', async () => {
  for (const [acts, told] of [[true, 'OutcomeUnknown'], [false, 'none']] as const) {
    const store = new MemoryStore()
    const [running, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const one = await counting({ store, owner: { id: 'one', isGone: () => false } }, {
      execute: () => {
        running.resolve()
        return go.promise.then(() => 'done')
      },
    }, acts)
    const pending = one.call('k')
    await running.promise
    const two = await counting({ store, owner: { id: 'two', isGone: (id) => id === 'one' } })
    await two.world.host.interruptedCalls()
    expect(acts ? verdictOf(await two.call('k')) : 'none').toBe(told)
    go.resolve()
    expect(await pending).toMatchObject({ data: 'done' })
    expect([await two.call('k'), two.runs()]).toMatchObject([{ data: 'done', metadata: { replayed: true } }, 0])
  }
})

test('an outcome is kept for a day', async () => {
  const clock = new ManualClock()
  const { call, runs } = await counting({ store: new MemoryStore(), clock })
  await call('k')
  await clock.advance(DAY_MS)
  expect((await call('k')).metadata.replayed).toBe(true)
  await clock.advance(1)
  expect([(await call('k')).metadata.replayed, runs()]).toEqual([undefined, 2])
})

test('a secret is not kept, and of an outcome that is too long only that there was one', async () => {
  const secret = await counting({ store: new MemoryStore() }, { execute: () => ({ token: 'ghp_abcdefghijklmnop' }) })
  await secret.call('k')
  expect(await secret.call('k')).toMatchObject({ data: { token: '[redacted]' } })
  const image = { content: [{ type: 'image', data: 'A'.repeat(1024 ** 2), mimeType: 'image/png' }] }
  const long = await counting({ store: new MemoryStore() }, { execute: () => image })
  expect(verdictOf(await long.call('k'))).toBe('output')
  expect([verdictOf(await long.call('k')), long.runs()]).toEqual(['OutputTooLarge', 1])
})

test.each([[true, 'OutcomeUnknown', 0], [false, 'output', 1]])(
  'an outcome that cannot be stored keeps its key claimed, and the next host goes by what it had begun: %s',
  async (acts, verdict, runs) => {
    const store = new MemoryStore()
    const { world, call } = await counting({ store }, { execute: () => { store.failing = true; return 'done' } }, acts)
    expect(await call('k')).toMatchObject({ data: 'done' })
    store.failing = false
    expect(verdictOf(await call('k'))).toBe('IdempotencyKeyInUse')
    await world.host.flush()
    const next = await counting({ store })
    expect([verdictOf(await next.call('k')), next.runs()]).toEqual([verdict, runs])
  })

test.each([[true, 'OutcomeUnknown', 0], [false, 'output', 1]])(
  'after a crash the key of a call is settled by what it had begun: %s', async (acts, verdict, runs) => {
    const store = new MemoryStore()
    const lost = await counting({ store }, { execute: () => new Promise(() => {}) }, acts)
    void lost.call('k')
    await flush()
    const next = await counting({ store })
    expect([verdictOf(await next.call('k')), next.runs()]).toEqual([verdict, runs])
  })

test('calls of a host that has ended are settled once, also if several ask for their keys at once', async () => {
  const store = new MemoryStore()
  let isGone = false
  const owner = (id: string) => ({ id, isGone: () => isGone })
  const lost = await counting({ store, owner: owner('lost') }, { execute: () => new Promise(() => {}) })
  const next = await counting({ store, owner: owner('next') })
  const keys = ['k', 'l', 'm', 'n']
  for (const key of keys) void lost.call(key)
  await flush()
  isGone = true
  const outcomes = await Promise.all(keys.map((key) => next.call(key)))
  expect(outcomes.map(verdictOf)).toEqual(keys.map(() => 'OutcomeUnknown'))
  const settled = next.world.eventsOf('ToolInvocationFailed').filter(({ replayed }) => replayed === undefined)
  expect(settled).toHaveLength(keys.length)
})

test('a key of a host that ends later is settled with the next call', async () => {
  const store = new MemoryStore()
  let isGone = false
  const owner = (id: string) => ({ id, isGone: () => isGone })
  const lost = await counting({ store, owner: owner('lost') }, { execute: () => new Promise(() => {}) })
  const next = await counting({ store, owner: owner('next') })
  expect(await next.world.host.interruptedCalls()).toEqual([])
  void lost.call('k')
  await flush()
  expect(verdictOf(await next.call('k'))).toBe('IdempotencyKeyInUse')
  isGone = true
  expect([verdictOf(await next.call('k')), next.runs()]).toEqual(['OutcomeUnknown', 0])
})

test.each([[''], ['a b'], ['ä'], ['x'.repeat(201)], [7]])('the key %j is invalid', async (key) => {
  const { call, runs } = await counting({ store: new MemoryStore() })
  const error = { code: 'InputInvalid', data: { path: '/idempotencyKey' } }
  expect(await call(key as string)).toMatchObject({ error })
  expect(runs()).toBe(0)
})

test('in a store that forgets nothing is recorded, and the tool gets the key', async () => {
  const store = Object.assign(new MemoryStore(), { forgets: true })
  const { world, call, runs } = await counting({ store })
  await call('k')
  await call('k')
  expect([runs(), await store.list('outcome')]).toEqual([2, []])
  expect(world.compartment().calls.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['k', 'k'])
})

test('without a key of the caller, the tool gets one that differs with each call', async () => {
  const { world, call } = await counting({ store: new MemoryStore() })
  await call(undefined)
  await call(undefined)
  const keys = world.compartment().calls.map(({ idempotencyKey }) => idempotencyKey)
  expect(new Set(keys).size).toBe(2)
  expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), expect.stringMatching(/^[0-9a-f]{64}$/)])
})

test('a call that pauses has the same key when it continues, and its outcome is recorded then', async () => {
  const store = new MemoryStore()
  const ask: ToolSketch = {
    requires: { capabilities: ['interact'] },
    execute: async (_, { services, callId, signal }) =>
      services.interact!(callId, { kind: 'Ask', prompt: 'Why?' }, signal),
  }
  const world = createWorld({ store, extensions: [{ tools: { echo: ask } }] })
  const session = await world.host.openSession({ mode: 'yolo', pause: true })
  const call = (id: string) => session.call({ id, name: 'echo', arguments: {}, idempotencyKey: 'k' })
  const paused = await call('a')
  expect([verdictOf(paused), verdictOf(await call('b'))]).toEqual(['ClarificationNeeded', 'ClarificationNeeded'])
  expect(world.compartment().calls).toHaveLength(1)
  const { data } = (paused as ErrorOutcome).error
  const { paused: id } = data as { readonly paused: string }
  const later = await world.host.openSession({ mode: 'yolo', pause: true })
  expect(await later.resume(id, 'because')).toMatchObject({ data: { value: 'because' } })
  expect(world.compartment().calls.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['k', 'k'])
  expect(await call('c')).toMatchObject({ data: { value: 'because' }, metadata: { replayed: true } })
})
