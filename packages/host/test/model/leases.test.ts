import { expect, test } from 'vitest'
import { Leases, WaitGroup } from '../../src/model/waiting.ts'
import { flush } from '../twin/clock.ts'

const settled = async (work: Promise<unknown>) => {
  let done = false
  void work.then(() => { done = true })
  await flush()
  return done
}

test('waits for present holders, not for later ones', async () => {
  const leases = new Leases()
  const [first, second] = [leases.acquire(), leases.acquire()]
  const released = leases.whenReleased()
  const third = leases.acquire()
  first()
  first()
  expect(leases.size).toBe(2)
  expect(await settled(released)).toBe(false)
  second()
  expect(await settled(released)).toBe(true)
  const none = leases.whenNone()
  expect(await settled(none)).toBe(false)
  third()
  expect(await settled(none)).toBe(true)
  expect(await settled(leases.whenNone())).toBe(true)
})

test('whenNone resolves when no holder is left, also if others came meanwhile', async () => {
  const leases = new Leases()
  const first = leases.acquire()
  const none = leases.whenNone()
  const second = leases.acquire()
  first()
  expect(await settled(none)).toBe(false)
  second()
  expect(await settled(none)).toBe(true)
})

test('whenNone of a group resolves when all have left, at once if it is empty', async () => {
  const work = new WaitGroup()
  await work.whenNone()
  work.add(2)
  work.add(1)
  let none = false
  const waiting = Promise.all([work.whenNone(), work.whenNone()]).then(() => { none = true })
  work.done(2)
  await flush()
  expect([none, work.size]).toEqual([false, 1])
  work.done(1)
  await waiting
})
