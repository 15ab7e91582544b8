import { describe, expect, it } from 'vitest'
import { ascending, quantile, summarize } from '../src/harness/statistics.ts'

describe('quantile', () => {
  it('interpolates between neighbours', () => {
    // Positions in 1 2 3 4 10: 4 × 0.25 = 1, 4 × 0.5 = 2, 4 × 0.9 = 3.6, so 4 + 0.6 × 6.
    const values = [1, 2, 3, 4, 10]
    expect(quantile(values, 0)).toBe(1)
    expect(quantile(values, 0.25)).toBe(2)
    expect(quantile(values, 0.5)).toBe(3)
    expect(quantile(values, 0.9)).toBeCloseTo(7.6, 12)
    expect(quantile(values, 1)).toBe(10)
  })

  it('averages two values', () => {
    expect(quantile([10, 20], 0.5)).toBe(15)
  })

  it('returns a single value', () => {
    expect(quantile([42], 0.99)).toBe(42)
  })

  it('throws without values', () => {
    expect(() => quantile([], 0.5)).toThrow(RangeError)
  })
})

describe('ascending', () => {
  it('sorts numerically and does not change its input', () => {
    const values = [100, 9, 20]
    expect([...ascending(values)]).toEqual([9, 20, 100])
    expect(values).toEqual([100, 9, 20])
  })
})

describe('summarize', () => {
  it('gives median, quartiles and relative spread', () => {
    // Sorted 1 2 4 7 8 9 12: quartiles at positions 1.5 and 4.5, so 3 and 8.5; (8.5 − 3) ÷ 7.
    expect(summarize([7, 1, 12, 4, 9, 2, 8])).toEqual({ median: 7, low: 3, high: 8.5, spread: 5.5 / 7 })
  })

  it('ignores one stalled round', () => {
    expect(summarize([10, 10, 10, 10, 9000])).toEqual({ median: 10, low: 10, high: 10, spread: 0 })
  })
})
