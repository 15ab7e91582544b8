import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BUCKET_BOUNDS, Histogram } from '../../src/records/metrics.ts'

test('an empty histogram is zero everywhere', () => {
  expect(new Histogram().snapshot()).toMatchObject({ count: 0, sum: 0, max: 0, p50: 0, p95: 0, p99: 0 })
})

test('quantiles are at least the true ones, and at most one bucket above', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 200_000 }), { minLength: 1, maxLength: 200 }), (durations) => {
      const histogram = new Histogram()
      for (const ms of durations) histogram.record(ms)
      const sorted = durations.toSorted((a, b) => a - b)
      const { count, sum, max, buckets, p50, p95, p99 } = histogram.snapshot()
      expect([count, sum, max]).toEqual([durations.length, durations.reduce((a, b) => a + b), sorted.at(-1)])
      expect(buckets.reduce((a, b) => a + b)).toBe(durations.length)
      for (const [share, found] of [
        [0.5, p50], [0.95, p95], [0.99, p99],
      ] as const) {
        const exact = sorted[Math.ceil(durations.length * share) - 1]!
        expect(found).toBeGreaterThanOrEqual(exact)
        expect(found).toBeLessThanOrEqual(Math.min(BUCKET_BOUNDS.find((bound) => exact <= bound) ?? max, max))
      }
    }),
  )
})
