import { describe, expect, it } from 'vitest'
import type { Series } from '../src/harness/started-side.ts'
import { resultOf } from '../src/harness/result.ts'
import { FULL, type Recording } from '../src/harness/run.ts'
import { defineSubject, type Measure } from '../src/harness/subject.ts'
import { spinning } from './fixtures/sides.ts'

const subject = defineSubject({
  title: 'T',
  compares: 'C',
  sides: [spinning('ours', 1), spinning('theirs', 1)],
  modes: [{ kind: 'latency' }, { kind: 'throughput', concurrency: 64 }],
  ratios: [
    { side: 'ours', measure: 'p50', is: '≤', ratio: 0.5, against: 'theirs' },
    { side: 'ours', measure: 'p50', is: '≤', ratio: 0.25, against: 'theirs' },
    { side: 'ours', measure: '64-way', is: '≥', ratio: 2, against: 'theirs' },
    { side: 'ours', measure: '64-way', is: '≥', ratio: 3, against: 'theirs' },
    { side: 'ours', measure: '64-way', against: 'theirs' },
  ],
})

const series = (p50: number[], p99: number[], wide: number[]) => new Map<Measure, Series>([
  ['p50', { byRound: p50, whole: 100 }],
  ['p99', { byRound: p99, whole: 200 }],
  ['64-way', { byRound: wide, whole: 300 }],
])

/** The machine slows down in the last two rounds, which hardly changes the ratios. */
const recording: Recording = {
  rounds: 5,
  seconds: 2,
  series: new Map([
    ['ours', series([10, 20, 30, 60, 60], [1, 900, 1, 900, 1], [200, 250, 300, 100, 100])],
    ['theirs', series([50, 100, 100, 200, 150], [2, 2, 2, 2, 2], [100, 100, 100, 30, 50])],
  ]),
  machine: { spinMs: { median: 1, low: 1, high: 1.05, spread: 0.05 }, loadBefore: 0.5, loadAfter: 0.7 },
}

const result = resultOf(subject, FULL, recording)

describe('resultOf', () => {
  it('divides round by round, and reports the median and quartiles', () => {
    // p50: 0.2 0.2 0.3 0.3 0.4 → median 0.3, quartiles 0.2 and 0.3. 64-way: 2 2.5 3 3.33 2 → 2, 2, 2.5, 3, 3.33.
    expect(result.ratios.map(({ median, low, high }) => [median, low, high])).toEqual([
      [0.3, 0.2, 0.3],
      [0.3, 0.2, 0.3],
      [2.5, 2, 3],
      [2.5, 2, 3],
      [2.5, 2, 3],
    ])
  })

  it('compares the median with the goal, and marks rounds that disagree', () => {
    expect(result.ratios.map(({ met, clear }) => ({ met, clear }))).toEqual([
      { met: true, clear: true },
      { met: false, clear: false },
      { met: true, clear: true },
      { met: false, clear: false },
      { met: undefined, clear: undefined },
    ])
  })

  it('reports each side over the whole run, with its spread', () => {
    expect(result.sides[1]).toEqual({
      name: 'theirs',
      measures: [
        { measure: 'p50', unit: 'µs', value: 100, spread: 0.5 },
        { measure: 'p99', unit: 'µs', value: 200, spread: 0 },
        { measure: '64-way', unit: 'calls/s', value: 300, spread: 0.5 },
      ],
    })
  })

  it('ignores p99 in the noise', () => {
    // Spreads of the rounds: ours (60 − 20) ÷ 30 and (250 − 100) ÷ 200, theirs 0.5 and 0.5.
    expect(result.noise.typical).toBeCloseTo((0.5 + 0.75) / 2, 12)
    expect(result.noise.widest).toEqual({ side: 'ours', measure: 'p50', spread: 40 / 30 })
    expect(result.noise.quiet).toBe(false)
    expect(result.noise.loadAfter).toBe(0.7)
  })

  it.each([
    ['steady sides and an idle machine', {}, true],
    ['a calibration loop that varies', { spinMs: { median: 1, low: 1, high: 1.2, spread: 0.2 } }, false],
    ['a load before the run', { loadBefore: 1000 }, false],
  ])('reports whether the machine was quiet: %s', (_, machine, quiet) => {
    const steady = series([10, 10, 10], [1, 900, 1], [100, 100, 100])
    const sides = new Map([['ours', steady], ['theirs', steady]])
    const calm = { ...recording.machine, loadBefore: 0, ...machine }
    expect(resultOf(subject, FULL, { ...recording, series: sides, machine: calm }).noise.quiet).toBe(quiet)
  })

  it('records the machine and the date', () => {
    expect(result.machine.node).toBe(process.version)
    expect(result.machine.cores).toBeGreaterThan(0)
    expect(new Date(result.date).toISOString()).toBe(result.date)
    expect(result.quick).toBe(false)
  })
})
