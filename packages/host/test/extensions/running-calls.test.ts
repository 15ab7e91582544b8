import { expect, test } from 'vitest'
import { RunningCalls, type Running } from '../../src/extensions/running-calls.ts'
import { flush } from '../twin/clock.ts'

function enter(calls: RunningCalls, id: string, attempt = 1): Running {
  const running = { callId: '' }
  running.callId = calls.enter(running, { id, attempt })
  return running
}

test('a free id is used as it is; a used one, and a second attempt, get another', () => {
  const calls = new RunningCalls()
  const first = enter(calls, 'c1')
  expect(first.callId).toBe('c1')
  expect(enter(calls, 'c1#1').callId).toBe('c1#1')
  const second = enter(calls, 'c1')
  expect(['c1', 'c1#1']).not.toContain(second.callId)
  expect(enter(calls, 'c2', 2).callId).not.toBe('c2')
  expect(enter(calls, 'x'.repeat(128), 2).callId.length).toBeLessThanOrEqual(128)
  expect(calls.size).toBe(5)
  expect(calls.get(second.callId)).toBe(second)
  calls.leave(first)
  calls.leave(first)
  expect(calls.size).toBe(4)
  expect(enter(calls, 'c1').callId).toBe('c1')
})

test('it is idle when all calls have ended, at once if there are none', async () => {
  const calls = new RunningCalls()
  await calls.whenIdle()
  const [a, b] = [enter(calls, 'a'), enter(calls, 'b')]
  expect(calls.any()).toBe(a)
  let idle = false
  const waiting = calls.whenIdle().then(() => { idle = true })
  calls.leave(a)
  await flush()
  expect(idle).toBe(false)
  expect(calls.any()).toBe(b)
  calls.leave(b)
  await waiting
  expect(calls.get('a')).toBeUndefined()
})

test('every call has a unique id, also with many similar ids', () => {
  const calls = new RunningCalls()
  const wanted = Array.from({ length: 300 }, (_, index) => `${index % 100}`)
  const running = wanted.map((id) => enter(calls, id))
  expect(new Set(running.map(({ callId }) => callId)).size).toBe(300)
  for (const call of running) expect(calls.get(call.callId)).toBe(call)
  for (const call of running) calls.leave(call)
  expect([calls.size, ...wanted.map((id) => calls.get(id))]).toEqual([0, ...wanted.map(() => undefined)])
})

test('to enter costs the same, however many calls run', () => {
  const calls = new RunningCalls()
  let compared = 0
  const costs = Array.from({ length: 10_000 }, (_, index) => {
    const before = compared
    let callId = ''
    const running: Running = { get callId() { compared++; return callId } }
    callId = calls.enter(running, { id: `${index}`, attempt: 1 })
    expect(calls.get(callId)).toBe(running)
    return compared - before
  })
  expect(Math.max(...costs)).toBeLessThan(200)
})
