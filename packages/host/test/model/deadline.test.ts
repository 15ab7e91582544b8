import { expect, test } from 'vitest'
import { Deadline } from '../../src/model/deadline.ts'
import { ManualClock } from '../twin/clock.ts'

function ticking(ms: number) {
  const clock = new ManualClock()
  const state = { expired: 0 }
  const deadline = new Deadline(clock, ms, () => { state.expired += 1 })
  return { clock, deadline, state }
}

test('expires once, when the time is over', async () => {
  const { clock, state } = ticking(100)
  await clock.advance(99)
  expect(state.expired).toBe(0)
  await clock.advance(1)
  await clock.advance(1_000)
  expect(state.expired).toBe(1)
})

test('stands still while paused, and goes on when every pause is over', async () => {
  const { clock, deadline, state } = ticking(100)
  await clock.advance(60)
  const first = deadline.pause()
  const second = deadline.pause()
  await clock.advance(10_000)
  first()
  first()
  await clock.advance(10_000)
  expect(state.expired).toBe(0)
  second()
  await clock.advance(39)
  expect(state.expired).toBe(0)
  await clock.advance(1)
  expect(state.expired).toBe(1)
})

test('tells what is left of it, and not what a pause took', async () => {
  const { clock, deadline } = ticking(100)
  await clock.advance(30)
  expect(deadline.leftMs).toBe(70)
  const resume = deadline.pause()
  await clock.advance(1_000)
  expect(deadline.leftMs).toBe(70)
  resume()
  await clock.advance(20)
  deadline.stop()
  expect(deadline.leftMs).toBe(50)
})

test('a stopped one never expires and holds no timer, paused or not', async () => {
  const { clock, deadline, state } = ticking(100)
  const resume = deadline.pause()
  deadline.stop()
  resume()
  deadline.stop()
  await clock.advance(1_000)
  expect(state.expired).toBe(0)
  expect(clock.pending).toBe(0)
})
