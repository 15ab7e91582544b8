import { describe, expect, it } from 'vitest'
import { spin, startNoiseMeter } from '../src/harness/run.ts'

describe('the noise meter', () => {
  it('times the calibration loop in every sample', () => {
    const meter = startNoiseMeter()
    for (let i = 0; i < 5; i++) meter.sample()
    const { spinMs, loadBefore, loadAfter } = meter.read()
    expect(spinMs.low).toBeGreaterThan(0)
    expect(spinMs.low).toBeLessThanOrEqual(spinMs.median)
    expect(spinMs.median).toBeLessThanOrEqual(spinMs.high)
    expect(Math.min(loadBefore, loadAfter)).toBeGreaterThanOrEqual(0)
  })

  it('takes measurable time after optimisation', () => {
    for (let i = 0; i < 20; i++) expect(spin()).toBeGreaterThan(0.1)
  })
})
