import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { AwakeDeadline } from '../src/session/awake-deadline.ts'

function started(ms: number) {
  const expired = Promise.withResolvers<number>()
  const state = { isOver: false }
  const deadline = new AwakeDeadline(ms, () => {
    state.isOver = true
    expired.resolve(performance.now())
  })
  return { deadline, state, expired: expired.promise }
}

function holdUp(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

it('expires once its time is over', async () => {
  const began = performance.now()
  const { expired } = started(250)
  expect(await expired - began).toBeGreaterThanOrEqual(249)
})

it.each([50, 250])('of %i ms, does not count time in which no message could be read, and expires all the same', async (ms) => {
  const { state, expired } = started(ms)
  await turn()
  holdUp(2_000)
  await delay(1)
  expect(state.isOver).toBe(false)
  await expired
})

it('stands still while it is paused, and never expires when it was stopped', async () => {
  const { deadline, state } = started(30)
  const resume = deadline.pause()
  await delay(150)
  expect(state.isOver).toBe(false)
  resume()
  deadline.stop()
  await delay(150)
  expect(state.isOver).toBe(false)
})
