import { describe, expect, it } from 'vitest'
import { defineSubject, measuresOf, type Goal, type Mode } from '../src/harness/subject.ts'
import { spinning } from './fixtures/sides.ts'

const latency = { kind: 'latency' } as const
const named = (names: string[], modes: Mode[], ratios: Goal[] = []) =>
  () => defineSubject({ title: 'T', compares: 'C', sides: names.map((name) => spinning(name, 1)), modes, ratios })

describe('defineSubject', () => {
  it('rejects ratios of unknown sides, also at compile time', () => {
    const both = { title: 'T', compares: 'C', sides: [spinning('a', 1), spinning('b', 1)], modes: [latency] }
    const goal = { side: 'a', measure: 'p50', is: '≤', ratio: 1 } as const
    expect(() => defineSubject({ ...both, ratios: [{ ...goal, against: 'b' }] })).not.toThrow()
    // @ts-expect-error: no side has the name "c"
    expect(() => defineSubject({ ...both, ratios: [{ ...goal, against: 'c' }] })).toThrow('"c"')
  })

  it.each([
    ['no sides', named([], [latency])],
    ['the same name', named(['a', 'a'], [latency])],
    ['no modes', named(['a'], [])],
    ['measure the same', named(['a'], [latency, latency])],
    ['concurrency of 0', named(['a'], [{ kind: 'throughput', concurrency: 0 }])],
    ['names 64-way', named(['a'], [latency], [{ side: 'a', measure: '64-way', is: '≥', ratio: 1, against: 'a' }])],
  ])('rejects an inconsistent subject: %s', (fault, define) => {
    expect(define).toThrow(fault)
  })
})

describe('measuresOf', () => {
  it('names a throughput by its concurrency', () => {
    expect(measuresOf(latency)).toEqual(['p50', 'p99'])
    expect(measuresOf({ kind: 'throughput', concurrency: 64 })).toEqual(['64-way'])
    expect(measuresOf({ kind: 'memory' })).toEqual(['idle'])
    expect(measuresOf({ kind: 'cpu' })).toEqual(['cpu'])
  })
})
