import type { Clock } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { closeStore } from '../src/facade/close-store.ts'

/** A clock whose timers the test triggers. */
function heldClock() {
  const waiting = new Set<() => void>()
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    after: (_, run) => {
      waiting.add(run)
      return () => waiting.delete(run)
    },
  }
  return { clock, waiting }
}

it.each<[string, () => Promise<void>]>([
  ['resolves', async () => {}],
  ['rejects', async () => { throw new Error('the disk is gone') }],
  ['throws', () => { throw new Error('it never was open') }],
])('resolves if close %s, and leaves no timer', async (_, close) => {
  const { clock, waiting } = heldClock()
  expect(await closeStore({ close }, clock)).toBe(undefined)
  expect(waiting.size).toBe(0)
})

it('waits for a store that does not answer until the timeout', async () => {
  const { clock, waiting } = heldClock()
  const closed = closeStore({ close: () => new Promise(() => {}) }, clock)
  for (const run of waiting) run()
  expect(await closed).toBe(undefined)
})
