import { expect, it } from 'vitest'
import { LinkedList } from '../../src/model/linked-list.ts'

it('keeps items in the order they were added', () => {
  const list = new LinkedList<string>()
  const [a, b] = ['a', 'b', 'c'].map((item) => list.add(item))
  expect(list.items()).toEqual(['a', 'b', 'c'])
  expect(list.remove(b!)).toBe(true)
  expect([list.items(), list.size, list.first]).toEqual([['a', 'c'], 2, 'a'])
  list.remove(a!)
  list.add('d')
  expect([list.items(), list.first]).toEqual([['c', 'd'], 'c'])
})

it('removes an item once, and keeps no reference to it', () => {
  const list = new LinkedList<object>()
  const place = list.add({})
  expect([list.remove(place), list.remove(place)]).toEqual([true, false])
  expect([list.size, list.first, place.item]).toEqual([0, undefined, undefined])
})

it('finds the oldest item that matches', () => {
  const list = new LinkedList<number>()
  for (const item of [1, 2, 3, 4]) list.add(item)
  expect(list.find((item) => item % 2 === 0)).toBe(2)
  expect(list.find((item) => item > 4)).toBeUndefined()
})

it('returns a copy that later changes do not affect', () => {
  const list = new LinkedList<number>()
  const place = list.add(1)
  const items = list.items()
  list.remove(place)
  expect(items).toEqual([1])
})
