import { afterEach, describe, expect, it, vi } from 'vitest'
import { SideError } from '../src/harness/contestant.ts'
import { resultOf } from '../src/harness/result.ts'
import { fairOrders, FULL, QUICK, runSubject } from '../src/harness/run.ts'
import { defineSubject, type Runner, type Side } from '../src/harness/subject.ts'
import { startPeerThread } from '../src/sides/baselines.ts'
import { spinning, ticking } from './fixtures/rigged.ts'

const latency = { kind: 'latency' } as const
const abreast = { kind: 'throughput', concurrency: 4 } as const
const among = (...sides: Side[]) => defineSubject({ title: 'T', compares: 'C', sides, modes: [latency, abreast], goals: [] })

/** What a side is asked before it is measured: one call alone, then four abreast. */
const FIRST_CALLS = 5

afterEach(() => vi.restoreAllMocks())

describe('runSubject', () => {
  it('finds the factor by which a side was rigged', async () => {
    const clock = { ms: 0 }
    vi.spyOn(performance, 'now').mockImplementation(() => clock.ms)
    const subject = defineSubject({
      title: 'T',
      compares: 'C',
      sides: [ticking('short', 100, clock), ticking('long', 300, clock)],
      modes: [latency, abreast],
      goals: [
        { side: 'long', measure: 'p50', is: '≥', ratio: 3, against: 'short' },
        { side: 'long', measure: '4-way', is: '≤', ratio: 1 / 3, against: 'short' },
      ],
    })
    const { ratios, sides } = resultOf(subject, QUICK, await runSubject(subject, QUICK))
    expect(ratios[0]?.median).toBeCloseTo(3, 6)
    expect(ratios[1]?.median).toBeCloseTo(1 / 3, 6)
    expect(sides.map(({ measures }) => measures.map(({ value }) => Math.round(value)))).toEqual([[100, 100, 10_000], [300, 300, 3333]])
  })

  it('lets the sides take turns in the fair order, in whole cycles', async () => {
    const turns: string[] = []
    const noting = (name: string) => spinning(name, 1, {
      run: async (i) => {
        if (turns.at(-1) !== name) turns.push(name)
        return i
      },
    })
    const sides = [noting('a'), noting('b'), noting('c'), noting('d')]
    const subject = defineSubject({ title: 'T', compares: 'C', sides, modes: [latency], goals: [] })
    const { rounds } = await runSubject(subject, { ...QUICK, quick: false, rounds: 3, warmUpMs: 0, settleMs: 0, turnMs: 0 })
    expect(rounds).toBe(4)
    // First they are checked, then warmed up; then the rounds. No side follows itself, so each change of name is a turn.
    expect(turns.join('')).toBe(['abcd', 'abcd', 'adbc', 'bacd', 'cbda', 'dcab'].join(''))
  })

  it('holds a measure against a number, over as many rounds as the subject wants', async () => {
    let reading = 0
    const subject = defineSubject({
      title: 'T',
      compares: 'C',
      sides: [spinning('a', 1, { megabytes: async () => ++reading })],
      modes: [{ kind: 'memory' }],
      goals: [{ side: 'a', measure: 'idle', is: '≤', ratio: 4 }, { side: 'a', measure: 'idle', is: '≤', ratio: 3 }],
      rounds: 6,
    })
    const result = resultOf(subject, FULL, await runSubject(subject, FULL))
    expect(reading).toBe(6)
    expect(result.sides[0]?.measures).toMatchObject([{ measure: 'idle', unit: 'MB', value: 3.5 }])
    expect(result.ratios.map(({ median, met }) => ({ median, met }))).toEqual([{ median: 3.5, met: true }, { median: 3.5, met: false }])
    expect((await runSubject(subject, QUICK)).rounds).toBe(3)
  })

  it('aborts with the name of a side that answers wrongly', async () => {
    const run = runSubject(among(spinning('honest', 1), spinning('mistaken', 1, { run: async () => 'nonsense' })), QUICK)
    await expect(run).rejects.toThrow(`The side "mistaken" answered 'nonsense' to call 0 where 0 was expected`)
  })

  it('notices answers that are mixed up only when several calls are under way', async () => {
    let held: PromiseWithResolvers<number> | undefined
    const swapping = async (i: number): Promise<number> => {
      await Promise.resolve()
      if (held === undefined) {
        const mine = (held = Promise.withResolvers<number>())
        setImmediate(() => {
          if (held === mine) held = undefined
          mine.resolve(i)
        })
        return mine.promise
      }
      held.resolve(i)
      return i
    }
    await expect(runSubject(among(spinning('swapping', 1, { run: swapping })), QUICK)).rejects.toThrow('"swapping" answered')
  })

  it('notices a side that goes wrong while it is measured', async () => {
    const run = runSubject(among(spinning('tiring', 1, { run: async (i) => (i < FIRST_CALLS ? i : 'tired') })), QUICK)
    await expect(run).rejects.toThrow(`The side "tiring" answered 'tired'`)
  })

  it('names the side whose call failed, and keeps the cause', async () => {
    const cause = new Error('no such tool')
    const failed = runSubject(among(spinning('failing', 1, { run: () => Promise.reject(cause) })), QUICK)
    await expect(failed).rejects.toThrow('The side "failing" failed in its first calls: no such tool')
    await expect(failed).rejects.toMatchObject({ name: 'SideError', side: 'failing', cause })
  })

  it('gives up on a side that never answers', async () => {
    const run = runSubject(among(spinning('silent', 1, { run: () => new Promise(() => {}) })), { ...QUICK, patienceMs: 20 })
    await expect(run).rejects.toThrow('The side "silent" was not done with its first calls within 20 ms')
  })

  it('does not wait for a thread that is gone', async () => {
    const orphaned: Side = {
      name: 'orphaned',
      answer: (i) => i,
      start: async (): Promise<Runner> => {
        const { worker, died, stop } = await startPeerThread(new URL('./fixtures/exits.ts', import.meta.url))
        return { run: () => new Promise(() => worker.postMessage('go')), died, stop }
      },
    }
    const run = runSubject(among(orphaned), QUICK)
    await expect(run).rejects.toThrow('"orphaned" failed in its first calls: its thread exited with code 7')
  })

  it('stops what it started, last first, even when a later side fails', async () => {
    const stopped: string[] = []
    const stopping = (name: string) => spinning(name, 1, { stop: async () => void stopped.push(name) })
    const broken: Side = { name: 'broken', answer: (i) => i, start: () => Promise.reject(new Error('no port')) }
    await expect(runSubject(among(stopping('a'), stopping('b'), broken), QUICK)).rejects.toThrow(SideError)
    expect(stopped).toEqual(['b', 'a'])
  })

  it('tells what failed first when stopping fails too', async () => {
    const stop = () => Promise.reject(new Error('stuck'))
    const run = runSubject(among(spinning('a', 1, { stop }), spinning('b', 1, { stop, run: async () => 'nonsense' })), QUICK)
    await expect(run).rejects.toThrow(`The side "b" answered 'nonsense'`)
    await expect(runSubject(among(spinning('a', 1, { stop })), QUICK)).rejects.toThrow('The side "a" failed in its end: stuck')
  })

  it('tells each round', async () => {
    const told: string[] = []
    await runSubject(among(spinning('a', 1)), QUICK, (done, all) => told.push(`${done}/${all}`))
    expect(told).toEqual(['1/3', '2/3', '3/3'])
  })
})

const count = (keys: string[]) => new Set(Map.groupBy(keys, (key) => key).values().map((same) => same.length))

describe('fairOrders', () => {
  it('is the known square of four', () => {
    expect(fairOrders(['a', 'b', 'c', 'd']).map((row) => row.join(''))).toEqual(['adbc', 'bacd', 'cbda', 'dcab'])
  })

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('gives each of %i sides a turn in every round', (n) => {
    const sides = Array.from({ length: n }, (_, side) => side)
    for (const row of fairOrders(sides)) expect(row.toSorted()).toEqual(sides)
  })

  it.each([2, 3, 4, 5, 6, 7, 8])('puts each of %i sides at each place, and after each other, equally often', (n) => {
    const rows = fairOrders(Array.from({ length: n }, (_, side) => side))
    const places = rows.flatMap((row) => row.map((side, place) => `${side} at ${place}`))
    const neighbours = rows.flatMap((row) => row.slice(1).map((side, before) => `${side} after ${row[before]}`))
    expect(new Set(places).size).toBe(n * n)
    expect(count(places).size).toBe(1)
    expect(new Set(neighbours).size).toBe(n * (n - 1))
    expect(count(neighbours).size).toBe(1)
  })
})
