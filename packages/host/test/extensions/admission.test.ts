import { DEFAULT_LIMITS } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { Admission, type AdmittedCalls } from '../../src/extensions/admission.ts'
import { flush } from '../twin/clock.ts'

const admission = (concurrentCalls: number, compartments = 1) =>
  new Admission('sample', {
    limits: { ...DEFAULT_LIMITS, concurrentCalls }, compartments, placement: 'process', config: {},
    activation: 'first-call', runsOn: undefined, isRemote: false,
  })
const NEVER = new AbortController().signal

/** Whether a paced call has entered. */
async function hasEntered(call: AdmittedCalls | Promise<unknown>): Promise<boolean> {
  let entered = !(call instanceof Promise)
  if (call instanceof Promise) void call.then((value) => { entered = value !== undefined })
  await flush()
  return entered
}

test.each([
  [1, 1, 17], [2, 3, 102],
])('%i calls in each of %i runsOn: undefined, compartments: each session may have %i', (slots, compartments, most) => {
  const tool = admission(slots, compartments)
  const [one, other] = [{}, {}]
  const calls = Array.from({ length: most }, () => tool.admit(one))
  expect(() => tool.admit(one)).toThrow(
    expect.objectContaining({ code: 'TooManyCalls', data: { limit: 'concurrentCalls' } }),
  )
  expect(tool.admit(other).count).toBe(1)
  calls[0]!.leave()
  expect(tool.admit(one).count).toBe(most)
})

test('paced calls enter in the order of arrival as others leave, also while more are admitted than run', async () => {
  const tool = admission(1)
  const session = {}
  const first = tool.admit(session)
  tool.admit(session)
  const [second, third] = [tool.pace(session, NEVER), tool.pace(session, NEVER)]
  expect([await hasEntered(second), await hasEntered(third)]).toEqual([false, false])
  first.leave()
  expect([await hasEntered(second), await hasEntered(third), first.count]).toEqual([true, false, 2])
  first.leave()
  expect([await hasEntered(third), first.count]).toEqual([true, 2])
  first.leave()
  first.leave()
  expect([first.count, await hasEntered(tool.pace(session, NEVER))]).toEqual([0, true])
})

test('a paced call that is cancelled while it waits takes no place', async () => {
  const tool = admission(1)
  const session = {}
  const running = tool.admit(session)
  const cancel = new AbortController()
  const waiting = tool.pace(session, cancel.signal)
  const next = tool.pace(session, NEVER)
  cancel.abort()
  expect(await waiting).toBeUndefined()
  expect(await tool.pace(session, cancel.signal)).toBeUndefined()
  running.leave()
  expect(await hasEntered(next)).toBe(true)
  running.leave()
  expect(running.count).toBe(0)
})
