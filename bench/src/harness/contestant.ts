import { inspect, isDeepStrictEqual } from 'node:util'
import { takeTurn, type Answered, type Caller } from './measure.ts'
import { ascending, quantile, summarize } from './statistics.ts'
import type { Measure, Mode, Side } from './subject.ts'

/** The values of one measure of one side: one for each round, and one over the whole run. */
export interface Series {
  readonly byRound: readonly number[]
  readonly whole: number
}

/** A started side and what it has shown so far. Contract: every failure is a SideError that names it. */
export interface Contestant {
  /** Asks alone, then as wide as the modes will: a side may mix up answers only when several are under way. */
  check(modes: readonly Mode[]): Promise<void>
  /** Calls that count for nothing. */
  warmUp(mode: Mode, ms: number): Promise<void>
  /** One measured turn of a round. */
  compete(mode: Mode, ms: number): Promise<void>
  results(): Map<Measure, Series>
  stop(): Promise<void>
}

export async function startContestant(side: Side, patienceMs: number): Promise<Contestant> {
  const runner = await attributed(side.name, 'its start', patienceMs, () => side.start())
  const alive = <T>(doing: string, work: () => Promise<T>) => attributed(side.name, doing, patienceMs, work, runner.died)
  const caller: Caller = { runner, next: 0 }
  const byRound = new Map<Measure, number[]>()
  const micros: number[] = []

  const expect = ({ i, answer }: Answered) => {
    const expected = side.answer(i)
    if (!isDeepStrictEqual(answer, expected)) throw wrongAnswer(side.name, i, answer, expected)
  }
  const ask = async () => {
    const i = caller.next++
    expect({ i, answer: await runner.run(i) })
    await runner.between?.()
  }
  const turn = (mode: Mode, ms: number) => alive(`a turn of ${mode.kind}`, async () => {
    const taken = await takeTurn(caller, mode, ms)
    expect(taken.last)
    return taken
  })

  return {
    check: (modes) => alive('its first calls', async () => {
      const width = Math.max(...modes.map((mode) => (mode.kind === 'throughput' ? mode.concurrency : 1)))
      await ask()
      await Promise.all(Array.from({ length: width }, ask))
    }),
    warmUp: async (mode, ms) => {
      if (mode.kind === 'latency' || mode.kind === 'throughput') await turn(mode, ms)
    },
    compete: async (mode, ms) => {
      const taken = await turn(mode, ms)
      for (const one of taken.micros) micros.push(one)
      for (const [measure, value] of taken.values) {
        const values = byRound.get(measure)
        if (values === undefined) byRound.set(measure, [value])
        else values.push(value)
      }
    },
    results: () => {
      const sorted = ascending(micros)
      const whole = (measure: Measure, values: number[]) => {
        if (measure === 'p50') return quantile(sorted, 0.5)
        if (measure === 'p99') return quantile(sorted, 0.99)
        return summarize(values).median
      }
      return new Map(Array.from(byRound, ([measure, values]) => [measure, { byRound: values, whole: whole(measure, values) }]))
    },
    stop: () => attributed(side.name, 'its end', patienceMs, () => runner.stop()),
  }
}

/** A failure with the side to blame: a comparison that lost a side means nothing, so the run ends with it. */
export class SideError extends Error {
  readonly side: string

  constructor(side: string, message: string, options?: ErrorOptions) {
    super(`The side "${side}" ${message}`, options)
    this.name = 'SideError'
    this.side = side
  }
}

function wrongAnswer(side: string, i: number, got: unknown, expected: unknown): SideError {
  const show = (value: unknown) => inspect(value, { breakLength: Infinity, maxStringLength: 120 })
  return new SideError(side, `answered ${show(got)} to call ${i} where ${show(expected)} was expected: its numbers would mean nothing.`)
}

/** Contract: settles within `patienceMs`, with a SideError whenever the work did not succeed or `died` came first. */
async function attributed<T>(
  side: string,
  doing: string,
  patienceMs: number,
  work: () => Promise<T>,
  died?: Promise<never>,
): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(new SideError(side, `was not done with ${doing} within ${patienceMs} ms. See whether its peer still answers.`))
  }, patienceMs)
  try {
    return await Promise.race([work(), late.promise, ...(died === undefined ? [] : [died])])
  } catch (error) {
    if (error instanceof SideError) throw error
    throw new SideError(side, `failed in ${doing}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}
