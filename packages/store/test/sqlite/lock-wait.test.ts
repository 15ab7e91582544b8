import { expect, it } from 'vitest'
import { LockWait, LOCK_WAIT_MS } from '../../src/sqlite/database-file.ts'

it('a file that is held is waited for once, and soon refused from then on, until it can be had', () => {
  let now = 0
  const hold = new LockWait(LOCK_WAIT_MS, () => now)
  expect(hold.waitMs).toBe(LOCK_WAIT_MS)
  hold.timedOut()
  expect(hold.waitMs).toBe(100)
  now += LOCK_WAIT_MS - 1
  expect(hold.waitMs).toBe(100)
  hold.end()
  expect(hold.waitMs).toBe(LOCK_WAIT_MS)
})

it('a hold that was not refreshed for as long is waited for anew', () => {
  let now = 0
  const hold = new LockWait(LOCK_WAIT_MS, () => now)
  hold.timedOut()
  now += LOCK_WAIT_MS
  expect(hold.waitMs).toBe(LOCK_WAIT_MS)
})

it('who has little patience has no more for being refused', () => {
  const hold = new LockWait(30)
  hold.timedOut()
  expect(hold.waitMs).toBe(30)
})
