import { describe, expect, it } from 'vitest'
import { fairOrders } from '../src/harness/order.ts'

const count = (keys: string[]) => new Set(Map.groupBy(keys, (key) => key).values().map((same) => same.length))

describe('fairOrders', () => {
  it('is the known square of four', () => {
    expect(fairOrders(['a', 'b', 'c', 'd']).map((row) => row.join(''))).toEqual(['adbc', 'bacd', 'cbda', 'dcab'])
  })

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('gives each of %i sides a turn in every round', (n) => {
    const sides = Array.from({ length: n }, (_, side) => side)
    for (const row of fairOrders(sides)) expect(row.toSorted()).toEqual(sides)
  })

  it.each([2, 3, 4, 5, 6, 7, 8])('puts each of %i sides at each place, and after each other, equally often', (n) => {
    const rows = fairOrders(Array.from({ length: n }, (_, side) => side))
    const places = rows.flatMap((row) => row.map((side, place) => `${side} at ${place}`))
    const neighbours = rows.flatMap((row) => row.slice(1).map((side, before) => `${side} after ${row[before]}`))
    expect(new Set(places).size).toBe(n * n)
    expect(count(places).size).toBe(1)
    expect(new Set(neighbours).size).toBe(n * (n - 1))
    expect(count(neighbours).size).toBe(1)
  })
})
