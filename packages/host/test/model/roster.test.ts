import { expect, test } from 'vitest'
import { Roster } from '../../src/model/roster.ts'

test('those who are there, in the order they came', () => {
  const roster = new Roster<string>()
  const [a, b, c] = ['a', 'b', 'c'].map((name) => roster.enter(name))
  expect(roster.members()).toEqual(['a', 'b', 'c'])
  expect(roster.leave(b!)).toBe(true)
  expect(roster.members()).toEqual(['a', 'c'])
  const again = roster.enter('b')
  expect(roster.leave(a!)).toBe(true)
  expect(roster.members()).toEqual(['c', 'b'])
  expect(roster.size).toBe(2)
  roster.leave(c!)
  roster.leave(again)
  expect([roster.size, roster.members()]).toEqual([0, []])
})

test('to leave twice is once, and leaves the others in place', () => {
  const roster = new Roster<string>()
  const first = roster.enter('first')
  roster.leave(first)
  roster.enter('second')
  expect(roster.leave(first)).toBe(false)
  expect([roster.size, roster.members()]).toEqual([1, ['second']])
})

test('an entry that leaves during iteration does not change the iteration', () => {
  const roster = new Roster<() => void>()
  const told: string[] = []
  const entries = ['a', 'b'].map((name) => roster.enter(() => {
    told.push(name)
    for (const entry of entries) roster.leave(entry)
  }))
  for (const tell of roster.members()) tell()
  expect(told).toEqual(['a', 'b'])
})
