import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { takeTurn } from '../src/harness/started-side.ts'
import type { Runner } from '../src/harness/subject.ts'
import { spinning } from './fixtures/sides.ts'

/** Answers in a later turn of the event loop, and records all calls and the most that were in flight. */
function observed() {
  const seen = { calls: new Array<number>(), underWay: 0, most: 0 }
  const runner: Runner = {
    run: async (i) => {
      seen.calls.push(i)
      seen.most = Math.max(seen.most, ++seen.underWay)
      await new Promise((resolve) => setImmediate(resolve))
      seen.underWay--
      return i
    },
    stop: async () => {},
  }
  return { runner, seen }
}

const upTo = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

describe('takeTurn', () => {
  it('times sequential calls for latency', async () => {
    const { runner, seen } = observed()
    const caller = { runner, next: 5 }
    const { values, micros, last } = await takeTurn(caller, { kind: 'latency' }, 3)
    expect(seen.most).toBe(1)
    expect(seen.calls).toEqual(upTo(5, caller.next))
    expect(micros).toHaveLength(seen.calls.length)
    expect(last).toEqual({ i: caller.next - 1, answer: caller.next - 1 })
    expect(values.map(([measure]) => measure)).toEqual(['p50', 'p99'])
  })

  it('keeps `concurrency` calls in flight for throughput', async () => {
    const { runner, seen } = observed()
    const caller = { runner, next: 0 }
    const { values: [value], last } = await takeTurn(caller, { kind: 'throughput', concurrency: 16 }, 3)
    expect(seen.most).toBe(16)
    expect(seen.calls.toSorted((a, b) => a - b)).toEqual(upTo(0, caller.next))
    expect(last.answer).toBe(last.i)
    expect(value?.[0]).toBe('16-way')
    expect(value?.[1]).toBeGreaterThan(seen.calls.length / 10)
  })

  it('reports the elapsed time', async () => {
    const runner = await spinning('short', 200).start()
    const { micros } = await takeTurn({ runner, next: 0 }, { kind: 'latency' }, 5)
    expect(Math.min(...micros)).toBeGreaterThan(199.9)
    const { values: [value] } = await takeTurn({ runner, next: 0 }, { kind: 'throughput', concurrency: 2 }, 5)
    expect(value?.[1]).toBeLessThan(1_000_000 / 199.9)
  })

  it('calls at least once if a call takes longer than the turn', async () => {
    const { runner, seen } = observed()
    expect((await takeTurn({ runner, next: 0 }, { kind: 'latency' }, 0)).micros).toHaveLength(1)
    await takeTurn({ runner, next: 1 }, { kind: 'throughput', concurrency: 3 }, 0)
    expect(seen.calls).toEqual([0, 1, 2, 3])
  })

  it('cleans up after each call, outside the measured time', async () => {
    const clock = { ms: 0 }
    const reading = vi.spyOn(performance, 'now').mockImplementation(() => clock.ms)
    onTestFinished(() => reading.mockRestore())
    const seen: string[] = []
    let asked = 0
    const runner: Runner = {
      run: async () => {
        clock.ms += 1
        seen.push(`run ${asked++}`)
      },
      between: async () => {
        clock.ms += 2
        seen.push('between')
      },
      stop: async () => {},
    }
    const { micros } = await takeTurn({ runner, next: 0 }, { kind: 'latency' }, 9)
    expect(seen).toEqual(micros.flatMap((_, call) => [`run ${call}`, 'between']))
    expect(micros).toEqual([1_000, 1_000, 1_000, 1_000])
  })

  it('reads memory instead of timing, and checks one call', async () => {
    const { runner, seen } = observed()
    const turn = await takeTurn(
      { runner: { ...runner, megabytes: async () => 7.5 }, next: 3 }, { kind: 'memory' }, 1_000,
    )
    expect(turn).toEqual({ values: [['idle', 7.5]], micros: [], last: { i: 3, answer: 3 } })
    expect(seen.calls).toEqual([3])
    await expect(takeTurn({ runner, next: 0 }, { kind: 'memory' }, 1)).rejects.toThrow('has no megabytes()')
  })

  it('reads CPU time in the same way', async () => {
    const { runner } = observed()
    const turn = await takeTurn({ runner: { ...runner, cpuMs: async () => 120 }, next: 3 }, { kind: 'cpu' }, 1_000)
    expect(turn).toEqual({ values: [['cpu', 120]], micros: [], last: { i: 3, answer: 3 } })
    await expect(takeTurn({ runner, next: 0 }, { kind: 'cpu' }, 1)).rejects.toThrow('has no cpuMs()')
  })

  it('rejects if a call fails', async () => {
    const runner: Runner = { run: () => Promise.reject(new Error('refused')), stop: async () => {} }
    await expect(takeTurn({ runner, next: 0 }, { kind: 'latency' }, 1)).rejects.toThrow('refused')
    await expect(takeTurn({ runner, next: 0 }, { kind: 'throughput', concurrency: 4 }, 1)).rejects.toThrow('refused')
  })
})
