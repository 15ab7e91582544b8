import { expect, it } from 'vitest'
import { Hold, PATIENCE_MS } from '../../src/sqlite/hold.ts'

it('a file that is held is waited for once, and soon refused from then on, until it can be had', () => {
  let now = 0
  const hold = new Hold(PATIENCE_MS, () => now)
  expect(hold.patienceMs).toBe(PATIENCE_MS)
  hold.ranOut()
  expect(hold.patienceMs).toBe(100)
  now += PATIENCE_MS - 1
  expect(hold.patienceMs).toBe(100)
  hold.end()
  expect(hold.patienceMs).toBe(PATIENCE_MS)
})

it('a hold that was not refreshed for as long is waited for anew', () => {
  let now = 0
  const hold = new Hold(PATIENCE_MS, () => now)
  hold.ranOut()
  now += PATIENCE_MS
  expect(hold.patienceMs).toBe(PATIENCE_MS)
})

it('who has little patience has no more for being refused', () => {
  const hold = new Hold(30)
  hold.ranOut()
  expect(hold.patienceMs).toBe(30)
})
