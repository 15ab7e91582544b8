import { expect, it } from 'vitest'
import { FairQueue } from '../src/fair-queue.ts'

function queueOf(...items: readonly string[]): FairQueue<string, string> {
  const queue = new FairQueue<string, string>(16)
  for (const item of items) queue.add(item[0]!, item)
  return queue
}

const all = (queue: FairQueue<string, string>): readonly string[] => {
  const found: string[] = []
  while (!queue.isEmpty) found.push(queue.next()!)
  return found
}

it('lets owners take turns, each in order', () => {
  expect(all(queueOf('a1', 'a2', 'a3', 'b1', 'c1', 'b2'))).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
})

it('gives the next turn to an owner that came later, not to one that had its turn', () => {
  const queue = queueOf('a1', 'a2', 'a3')
  expect(queue.next()).toBe('a1')
  queue.add('b', 'b1')
  expect(all(queue)).toEqual(['a2', 'b1', 'a3'])
})

it('forgets an item that no longer waits', () => {
  const queue = queueOf('a1', 'b1', 'b2')
  queue.remove('a', 'a1')
  queue.remove('b', 'b2')
  queue.remove('b', 'unknown')
  expect([queue.find((item) => item === 'a1'), queue.find((item) => item === 'b1')]).toEqual([undefined, 'b1'])
  expect(all(queue)).toEqual(['b1'])
})

it('limits the items of one owner, and not those of others', () => {
  const queue = new FairQueue<string, number>(2)
  const accepted = Array.from({ length: 3 }, (_, item) => queue.add('a', item))
  expect([accepted.filter(Boolean).length, queue.add('b', 0)]).toEqual([2, true])
  expect([queue.takeAll().length, queue.isEmpty, queue.next()]).toEqual([3, true, undefined])
})
