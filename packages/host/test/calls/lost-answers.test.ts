import { expect, onTestFinished, test, vi } from 'vitest'
import { BulkheadError } from '@bulkhead/contract'
import { flush } from '../twin/clock.ts'
import { MemoryStore } from '../twin/store.ts'
import { verdictOf } from '../twin/world.ts'
import { counting } from './counting.ts'

/** The answer to the update of an outcome with that number is lost. `lose` may do the update, or do it later. */
function losing(store: MemoryStore, number: number, lose: (update: () => Promise<unknown>) => unknown): void {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const update = store.update.bind(store)
  let count = 0
  store.update = async (collection, key, change) => {
    if (collection !== 'outcome' || ++count !== number) return update(collection, key, change)
    await lose(() => update(collection, key, change))
    throw new BulkheadError('StoreUnavailable', 'The answer was lost.')
  }
}

test('a claim that took effect while its answer was lost is freed, because its call does not run', async () => {
  const store = new MemoryStore()
  losing(store, 1, (update) => update())
  const one = await counting({ store, owner: { id: 'one', isGone: () => false } })
  const two = await counting({ store, owner: { id: 'two', isGone: () => false } })
  expect([await one.call('k'), await two.call('k')].map(verdictOf)).toEqual(['StoreUnavailable', 'IdempotencyKeyInUse'])
  await vi.advanceTimersByTimeAsync(1_000)
  expect([verdictOf(await two.call('k')), one.runs(), two.runs()]).toEqual(['output', 0, 1])
})

test('a claim whose answer was lost adds nothing when it comes after its key was freed', async () => {
  const store = new MemoryStore()
  let claim: Promise<unknown> | undefined
  const late = Promise.withResolvers<void>()
  // The server adds the record only if there is none.
  losing(store, 1, (update) => {
    claim = late.promise.then(async () => (await store.list('outcome')).length === 0 && update())
  })
  const { call, runs } = await counting({ store })
  expect(verdictOf(await call('k'))).toBe('StoreUnavailable')
  await vi.advanceTimersByTimeAsync(1_000)
  late.resolve()
  await claim
  expect([verdictOf(await call('k')), runs()]).toEqual(['output', 1])
})

test('a store that tries a claim again finds that it is that of the call', async () => {
  const store = new MemoryStore()
  const update = store.update.bind(store)
  store.update = async (...args) => {
    await update(...args)
    return update(...args)
  }
  const { call, runs } = await counting({ store })
  expect([verdictOf(await call('k')), verdictOf(await call('k')), runs()]).toEqual(['output', 'output', 1])
})

test('a call that ended, and whose answer was lost, does not free the key of the call that has it now', async () => {
  const store = new MemoryStore()
  losing(store, 2, (update) => update())
  let execute = async (): Promise<unknown> => { throw new Error('wrong') }
  const { call, runs } = await counting({ store }, { execute: () => execute() }, false)
  expect(verdictOf(await call('k'))).toBe('ToolExecutionFailed')
  const go = Promise.withResolvers<void>()
  execute = () => go.promise
  const second = call('k')
  await vi.advanceTimersByTimeAsync(1_000)
  const third = call('k')
  await flush()
  go.resolve()
  expect([verdictOf(await second), verdictOf(await third), runs()]).toEqual(['output', 'IdempotencyKeyInUse', 2])
})
