import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { AwakeDeadline } from '../src/session/awake-deadline.ts'

let now = 0
beforeEach(() => {
  now = 0
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  vi.spyOn(performance, 'now').mockImplementation(() => now)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Time in which timers fire. */
function pass(ms: number): void {
  for (let count = 0; count < ms; count++) {
    now++
    vi.advanceTimersByTime(1)
  }
}

/** Time in which they do not: those that are due fire late. */
function holdUp(ms: number, spanMs: number): void {
  now += ms
  vi.advanceTimersByTime(spanMs)
}

function started(ms: number) {
  const state = { isOver: false }
  const deadline = new AwakeDeadline(ms, () => { state.isOver = true })
  return { deadline, state }
}

it('expires once its time is over', () => {
  const { state } = started(250)
  pass(249)
  expect(state.isOver).toBe(false)
  pass(1)
  expect(state.isOver).toBe(true)
})

it.each([50, 250])('of %i ms, does not count time in which no message could be read, and expires all the same', (ms) => {
  const { state } = started(ms)
  holdUp(2_000, Math.min(ms, 100))
  expect(state.isOver).toBe(false)
  pass(ms)
  expect(state.isOver).toBe(true)
})

it('stands still while it is paused, and never expires when it was stopped', () => {
  const { deadline, state } = started(30)
  const resume = deadline.pause()
  pass(150)
  expect(state.isOver).toBe(false)
  resume()
  deadline.stop()
  pass(150)
  expect(state.isOver).toBe(false)
})
