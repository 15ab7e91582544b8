import { expect, it } from 'vitest'
import { Batches } from '../src/batches.ts'

function sender() {
  const sent: { readonly items: readonly number[]; readonly answer: PromiseWithResolvers<readonly string[]> }[] = []
  const send = (items: readonly number[]): Promise<readonly string[]> => {
    const answer = Promise.withResolvers<readonly string[]>()
    sent.push({ items, answer })
    return answer.promise
  }
  const items = () => sent.map((one) => one.items)
  const answer = (at: number) => sent[at]!.answer.resolve(sent[at]!.items.map((item) => `answer to ${item}`))
  return { send, items, answer, fail: (at: number) => sent[at]!.answer.reject(new Error('lost')) }
}

it('sends what waits together, at most so many, and gives each its result', async () => {
  const { send, items, answer } = sender()
  const batches = new Batches(send, { most: 3 })
  const results = Promise.all([1, 2, 3, 4].map((item) => batches.add(item)))
  await Promise.resolve()
  expect(items()).toEqual([[1, 2, 3]])
  const late = batches.add(5)
  answer(0)
  await expect.poll(items).toEqual([[1, 2, 3], [4, 5]])
  answer(1)
  expect(await results).toEqual([1, 2, 3, 4].map((item) => `answer to ${item}`))
  expect(await late).toBe('answer to 5')
})

it('has so many under way, and a failure is that of its own items', async () => {
  const { send, items, answer, fail } = sender()
  const batches = new Batches(send, { flights: 2, most: 1 })
  const results = Promise.allSettled([1, 2, 3].map((item) => batches.add(item)))
  await Promise.resolve()
  expect(items()).toEqual([[1], [2]])
  fail(0)
  await expect.poll(items).toEqual([[1], [2], [3]])
  answer(1)
  answer(2)
  expect((await results).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
})
