import { expect, it } from 'vitest'
import { LockWait, LOCK_WAIT_MS } from '../../src/sqlite/database-file.ts'

it('a connection waits the full time once, and only shortly after that until the file is free', () => {
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

it('a connection waits the full time again after a pause without requests', () => {
  let now = 0
  const hold = new LockWait(LOCK_WAIT_MS, () => now)
  hold.timedOut()
  now += LOCK_WAIT_MS
  expect(hold.waitMs).toBe(LOCK_WAIT_MS)
})

it('a connection never waits longer than its own limit', () => {
  const hold = new LockWait(30)
  hold.timedOut()
  expect(hold.waitMs).toBe(30)
})
