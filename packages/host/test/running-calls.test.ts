import { expect, test } from 'vitest'
import type { RunningCall } from '../src/running-call.ts'
import { RunningCalls } from '../src/running-calls.ts'
import { flush } from './twin/clock.ts'

const running = (id: string) => ({ call: { id } }) as RunningCall

test('a free id is used as it is; a taken one, and a second attempt, get another', () => {
  const calls = new RunningCalls()
  expect(calls.enter(running('c1'), 1)).toBe('c1')
  expect(calls.enter(running('c1#1'), 1)).toBe('c1#1')
  const second = calls.enter(running('c1'), 1)
  expect(['c1', 'c1#1']).not.toContain(second)
  expect(calls.enter(running('c2'), 2)).not.toBe('c2')
  expect(calls.enter(running('x'.repeat(128)), 2).length).toBeLessThanOrEqual(128)
  expect(calls.size).toBe(5)
})

test('idle when all have left, at once when nobody is there', async () => {
  const calls = new RunningCalls()
  await calls.whenIdle()
  const ids = [calls.enter(running('a'), 1), calls.enter(running('b'), 1)]
  let idle = false
  const waiting = calls.whenIdle().then(() => { idle = true })
  calls.leave(ids[0]!)
  await flush()
  expect(idle).toBe(false)
  calls.leave(ids[1]!)
  await waiting
  expect(calls.get('a')).toBeUndefined()
})
