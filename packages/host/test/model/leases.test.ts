import { expect, test } from 'vitest'
import { Holds } from '../../src/model/leases.ts'
import { flush } from '../twin/clock.ts'

const settled = async (work: Promise<unknown>) => {
  let done = false
  void work.then(() => { done = true })
  await flush()
  return done
}

test('present holders are waited for, and later ones are not', async () => {
  const holds = new Holds()
  const [first, second] = [holds.enter(), holds.enter()]
  const released = holds.whenReleased()
  const third = holds.enter()
  first()
  first()
  expect(holds.size).toBe(2)
  expect(await settled(released)).toBe(false)
  second()
  expect(await settled(released)).toBe(true)
  const none = holds.whenNone()
  expect(await settled(none)).toBe(false)
  third()
  expect(await settled(none)).toBe(true)
  expect(await settled(holds.whenNone())).toBe(true)
})

test('a moment without anybody is one, also when others came while it was waited for', async () => {
  const holds = new Holds()
  const first = holds.enter()
  const none = holds.whenNone()
  const second = holds.enter()
  first()
  expect(await settled(none)).toBe(false)
  second()
  expect(await settled(none)).toBe(true)
})
