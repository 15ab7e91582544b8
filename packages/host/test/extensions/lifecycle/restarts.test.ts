import { expect, test } from 'vitest'
import { Restarts } from '../../../src/extensions/lifecycle/start.ts'

test('the first three crashes cause no pause, then the pause grows', () => {
  const restarts = new Restarts()
  const rests = [1, 2, 3, 4, 5, 6, 7, 8].map(() => {
    restarts.died(0)
    return restarts.restMs(0)
  })
  expect(rests).toEqual([0, 0, 0, 1_000, 5_000, 15_000, 60_000, 60_000])
})

test('a pause ends, and old crashes are forgotten', () => {
  const restarts = new Restarts()
  for (const at of [0, 0, 0, 0]) restarts.died(at)
  expect(restarts.restMs(400)).toBe(600)
  expect(restarts.restMs(1_000)).toBe(0)
  expect(restarts.deaths(119_999)).toBe(4)
  expect(restarts.deaths(120_000)).toBe(0)
  restarts.died(130_000)
  expect(restarts.restMs(130_000)).toBe(0)
})

test('a start during the pause is rejected with the time when it may start again', () => {
  const restarts = new Restarts()
  const clock = { now: () => 0, monotonic: () => 400.5, after: () => () => {} }
  expect(() => restarts.refuseWhileResting('sample', clock)).not.toThrow()
  for (const at of [0, 0, 0, 0]) restarts.died(at)
  expect(() => restarts.refuseWhileResting('sample', clock)).toThrow(
    expect.objectContaining({
      code: 'CompartmentQuarantined',
      message: 'The extension "sample" died 4 times and rests until 1970-01-01T00:00:00.600Z.',
      data: { extension: 'sample', retryAfterMs: 600, until: '1970-01-01T00:00:00.600Z' },
    }),
  )
})
