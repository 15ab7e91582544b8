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

/** Advances the clock while timers fire. */
function pass(ms: number): void {
  for (let count = 0; count < ms; count++) {
    now++
    vi.advanceTimersByTime(1)
  }
}

/** Advances the clock while the thread is blocked: timers that are due fire late. */
function holdUp(ms: number, spanMs: number): void {
  now += ms
  vi.advanceTimersByTime(spanMs)
}

function started(ms: number) {
  const state = { isOver: false }
  const deadline = new AwakeDeadline(ms, () => { state.isOver = true })
  return { deadline, state }
}

it('expires when its time is over', () => {
  const { state } = started(250)
  pass(249)
  expect(state.isOver).toBe(false)
  pass(1)
  expect(state.isOver).toBe(true)
})

it.each([50, 250])('hardly counts time while the thread is blocked, and still expires, with %i ms left', (ms) => {
  const { state } = started(ms)
  holdUp(2_000, Math.min(ms, 100))
  expect(state.isOver).toBe(false)
  pass(ms)
  expect(state.isOver).toBe(true)
})

it('does not run while paused, and never expires after it was stopped', () => {
  const { deadline, state } = started(30)
  const resume = deadline.pause()
  pass(150)
  expect(state.isOver).toBe(false)
  resume()
  deadline.stop()
  pass(150)
  expect(state.isOver).toBe(false)
})
