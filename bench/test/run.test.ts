import { afterEach, describe, expect, it, vi } from 'vitest'
import { SideError } from '../src/harness/started-side.ts'
import { resultOf } from '../src/harness/result.ts'
import { fairOrders, FULL, QUICK, runSubject } from '../src/harness/run.ts'
import { defineSubject, type Runner, type Side } from '../src/harness/subject.ts'
import { startPeerThread } from '../src/subjects/baselines.ts'
import { spinning, ticking } from './fixtures/sides.ts'

const latency = { kind: 'latency' } as const
const concurrent = { kind: 'throughput', concurrency: 4 } as const
const among = (...sides: Side[]) => defineSubject({
  title: 'T', compares: 'C', sides, modes: [latency, concurrent], ratios: [],
})

/** The calls before measuring: one alone, then four at once. */
const FIRST_CALLS = 5

afterEach(() => vi.restoreAllMocks())

describe('runSubject', () => {
  it('measures the factor between two sides', async () => {
    const clock = { ms: 0 }
    vi.spyOn(performance, 'now').mockImplementation(() => clock.ms)
    const subject = defineSubject({
      title: 'T',
      compares: 'C',
      sides: [ticking('short', 100, clock), ticking('long', 300, clock)],
      modes: [latency, concurrent],
      ratios: [
        { side: 'long', measure: 'p50', is: '≥', ratio: 3, against: 'short' },
        { side: 'long', measure: '4-way', is: '≤', ratio: 1 / 3, against: 'short' },
      ],
    })
    const { ratios, sides } = resultOf(subject, QUICK, await runSubject(subject, QUICK))
    expect(ratios[0]?.median).toBeCloseTo(3, 6)
    expect(ratios[1]?.median).toBeCloseTo(1 / 3, 6)
    expect(sides.map(({ measures }) => measures.map(({ value }) => Math.round(value)))).toEqual([
      [100, 100, 10_000], [300, 300, 3333],
    ])
  })

  it('rotates the order of the sides, in whole cycles', async () => {
    const turns: string[] = []
    const noting = (name: string) => spinning(name, 1, {
      run: async (i) => {
        if (turns.at(-1) !== name) turns.push(name)
        return i
      },
    })
    const sides = [noting('a'), noting('b'), noting('c'), noting('d')]
    const subject = defineSubject({ title: 'T', compares: 'C', sides, modes: [latency], ratios: [] })
    const { rounds } = await runSubject(
      subject, { ...QUICK, quick: false, rounds: 3, warmUpMs: 0, settleMs: 0, turnMs: 0 },
    )
    expect(rounds).toBe(4)
    // The check, the warm-up, then the rounds. No side follows itself, so each change of name is a turn.
    expect(turns.join('')).toBe(['abcd', 'abcd', 'adbc', 'bacd', 'cbda', 'dcab'].join(''))
  })

  it('reads a measure in the rounds of the subject', async () => {
    let reading = 0
    const subject = defineSubject({
      title: 'T',
      compares: 'C',
      sides: [spinning('a', 1, { megabytes: async () => ++reading })],
      modes: [{ kind: 'memory' }],
      ratios: [],
      rounds: 6,
    })
    const result = resultOf(subject, FULL, await runSubject(subject, FULL))
    expect(reading).toBe(6)
    expect(result.sides[0]?.measures).toMatchObject([{ measure: 'idle', unit: 'MB', value: 3.5 }])
    expect((await runSubject(subject, QUICK)).rounds).toBe(3)
  })

  it('aborts with the name of the side with a wrong answer', async () => {
    const run = runSubject(
      among(spinning('honest', 1), spinning('mistaken', 1, { run: async () => 'nonsense' })), QUICK,
    )
    await expect(run).rejects.toThrow(`The side "mistaken" answered 'nonsense' to call 0; expected 0`)
  })

  it('detects answers that are mixed up between concurrent calls', async () => {
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
    await expect(runSubject(among(spinning('swapping', 1, { run: swapping })), QUICK))
      .rejects.toThrow('"swapping" answered')
  })

  it('detects a wrong answer during measuring', async () => {
    const run = runSubject(among(spinning('tiring', 1, { run: async (i) => (i < FIRST_CALLS ? i : 'tired') })), QUICK)
    await expect(run).rejects.toThrow(`The side "tiring" answered 'tired'`)
  })

  it('names the side with the failed call, and keeps the cause', async () => {
    const cause = new Error('no such tool')
    const failed = runSubject(among(spinning('failing', 1, { run: () => Promise.reject(cause) })), QUICK)
    await expect(failed).rejects.toThrow('The side "failing" failed in the first calls: no such tool')
    await expect(failed).rejects.toMatchObject({ name: 'SideError', side: 'failing', cause })
  })

  it('times out for a side that never answers', async () => {
    const run = runSubject(
      among(spinning('silent', 1, { run: () => new Promise(() => {}) })), { ...QUICK, timeoutMs: 20 },
    )
    await expect(run).rejects.toThrow('The side "silent" did not finish the first calls within 20 ms')
  })

  it('does not wait for a thread that exited', async () => {
    const orphaned: Side = {
      name: 'orphaned',
      answer: (i) => i,
      start: async (): Promise<Runner> => {
        const { worker, died, stop } = await startPeerThread(new URL('./fixtures/exits.ts', import.meta.url))
        return { run: () => new Promise(() => worker.postMessage('go')), died, stop }
      },
    }
    const run = runSubject(among(orphaned), QUICK)
    await expect(run).rejects.toThrow('"orphaned" failed in the first calls: its thread exited with code 7')
  })

  it('stops started sides in reverse order, also if a later side fails to start', async () => {
    const stopped: string[] = []
    const stopping = (name: string) => spinning(name, 1, { stop: async () => void stopped.push(name) })
    const broken: Side = { name: 'broken', answer: (i) => i, start: () => Promise.reject(new Error('no port')) }
    await expect(runSubject(among(stopping('a'), stopping('b'), broken), QUICK)).rejects.toThrow(SideError)
    expect(stopped).toEqual(['b', 'a'])
  })

  it('reports the first failure if stopping fails too', async () => {
    const stop = () => Promise.reject(new Error('stuck'))
    const run = runSubject(
      among(spinning('a', 1, { stop }), spinning('b', 1, { stop, run: async () => 'nonsense' })), QUICK,
    )
    await expect(run).rejects.toThrow(`The side "b" answered 'nonsense'`)
    await expect(runSubject(among(spinning('a', 1, { stop })), QUICK))
      .rejects.toThrow('The side "a" failed in stop: stuck')
  })

  it('reports each round', async () => {
    const rounds: string[] = []
    await runSubject(among(spinning('a', 1)), QUICK, (done, all) => rounds.push(`${done}/${all}`))
    expect(rounds).toEqual(['1/3', '2/3', '3/3'])
  })
})

const count = (keys: string[]) => new Set(Map.groupBy(keys, (key) => key).values().map((same) => same.length))

describe('fairOrders', () => {
  it('gives the Williams square for four sides', () => {
    expect(fairOrders(['a', 'b', 'c', 'd']).map((row) => row.join(''))).toEqual(['adbc', 'bacd', 'cbda', 'dcab'])
  })

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('gives each of %i sides a turn in every round', (n) => {
    const sides = Array.from({ length: n }, (_, side) => side)
    for (const row of fairOrders(sides)) expect(row.toSorted()).toEqual(sides)
  })

  it.each([2, 3, 4, 5, 6, 7, 8])('balances the positions and the neighbours of %i sides', (n) => {
    const rows = fairOrders(Array.from({ length: n }, (_, side) => side))
    const places = rows.flatMap((row) => row.map((side, place) => `${side} at ${place}`))
    const neighbours = rows.flatMap((row) => row.slice(1).map((side, before) => `${side} after ${row[before]}`))
    expect(new Set(places).size).toBe(n * n)
    expect(count(places).size).toBe(1)
    expect(new Set(neighbours).size).toBe(n * (n - 1))
    expect(count(neighbours).size).toBe(1)
  })
})
