import { inspect, isDeepStrictEqual } from 'node:util'
import { messageOf } from '@bulkhead/kit/error-message'
import { ascending, quantile, summarize } from './statistics.ts'
import type { Measure, Mode, Runner, Side } from './subject.ts'

/** The values of one measure of one side: one per round, and one for the whole run. */
export interface Series {
  readonly byRound: readonly number[]
  readonly whole: number
}

/** A started side and its results so far. Contract: every failure is a SideError with the name of the side. */
export interface StartedSide {
  /**
   * Checks the answers of one call, then of as many concurrent calls as the modes use, because a side may mix those up.
   */
  check(modes: readonly Mode[]): Promise<void>
  /** Calls without measuring. */
  warmUp(mode: Mode, ms: number): Promise<void>
  /** Takes one measured turn of a round. */
  measure(mode: Mode, ms: number): Promise<void>
  results(): Map<Measure, Series>
  stop(): Promise<void>
}

export async function startSide(side: Side, timeoutMs: number): Promise<StartedSide> {
  const runner = await attributed(side.name, 'start', timeoutMs, () => side.start())
  const alive = <T>(doing: string, work: () => Promise<T>) => attributed(side.name, doing, timeoutMs, work, runner.died)
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
    check: (modes) => alive('the first calls', async () => {
      const width = Math.max(...modes.map((mode) => (mode.kind === 'throughput' ? mode.concurrency : 1)))
      await ask()
      await Promise.all(Array.from({ length: width }, ask))
    }),
    warmUp: async (mode, ms) => {
      if (mode.kind === 'latency' || mode.kind === 'throughput') await turn(mode, ms)
    },
    measure: async (mode, ms) => {
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
      return new Map(Array.from(byRound, ([measure, values]) =>
        [measure, { byRound: values, whole: whole(measure, values) }]))
    },
    stop: () => attributed(side.name, 'stop', timeoutMs, () => runner.stop()),
  }
}

/** A failure of one side. It ends the run, because a comparison without that side means nothing. */
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
  return new SideError(side, `answered ${show(got)} to call ${i}; expected ${show(expected)}.`)
}

/** Contract: settles within `timeoutMs`, with a SideError if the work fails or `died` rejects first. */
async function attributed<T>(
  side: string,
  doing: string,
  timeoutMs: number,
  work: () => Promise<T>,
  died?: Promise<never>,
): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const message = `did not finish ${doing} within ${timeoutMs} ms. Check whether its peer still answers.`
    late.reject(new SideError(side, message))
  }, timeoutMs)
  try {
    return await Promise.race([work(), late.promise, ...(died === undefined ? [] : [died])])
  } catch (error) {
    if (error instanceof SideError) throw error
    throw new SideError(side, `failed in ${doing}: ${messageOf(error)}`, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

/** A runner with the number of its next call, so that every call of a run is different. */
export interface Caller {
  readonly runner: Runner
  next: number
}

/** The last call of a turn. Its answer is checked after the measured time. */
export interface Answered {
  readonly i: number
  readonly answer: unknown
}

export interface Turn {
  readonly values: readonly (readonly [Measure, number])[]
  /** Microseconds of each call. Empty for throughput, where a call mostly waits for others, and for readings. */
  readonly micros: readonly number[]
  readonly last: Answered
}

export async function takeTurn(caller: Caller, mode: Mode, ms: number): Promise<Turn> {
  if (mode.kind === 'throughput') {
    const { perSecond, last } = await callConcurrently(caller, ms, mode.concurrency)
    return { values: [[`${mode.concurrency}-way`, perSecond]], micros: [], last }
  }
  if (mode.kind === 'memory') return read(caller, 'idle', caller.runner.megabytes, 'megabytes')
  if (mode.kind === 'cpu') return read(caller, 'cpu', caller.runner.cpuMs, 'cpuMs')
  if (mode.kind === 'first') return read(caller, 'first', caller.runner.firstMs, 'firstMs')
  if (mode.kind === 'early') return read(caller, 'early', caller.runner.earlyMicros, 'earlyMicros')
  if (mode.kind === 'tokens') return read(caller, 'tokens', caller.runner.tokens, 'tokens')
  const { micros, last } = await callInSequence(caller, ms)
  const sorted = ascending(micros)
  return { values: [['p50', quantile(sorted, 0.5)], ['p99', quantile(sorted, 0.99)]], micros, last }
}

/** Sequential calls for `ms`, at least one. */
async function callInSequence(caller: Caller, ms: number): Promise<{ micros: number[]; last: Answered }> {
  const micros: number[] = []
  const end = performance.now() + ms
  for (;;) {
    const i = caller.next++
    const before = performance.now()
    const answer = await caller.runner.run(i)
    const after = performance.now()
    micros.push((after - before) * 1000)
    await caller.runner.between?.()
    if (after >= end) return { micros, last: { i, answer } }
  }
}

async function read(
  caller: Caller, measure: Measure, reading: (() => Promise<number>) | undefined, name: string,
): Promise<Turn> {
  if (reading === undefined) throw new TypeError(`Its runner has no ${name}().`)
  const i = caller.next++
  return { values: [[measure, await reading()]], micros: [], last: { i, answer: await caller.runner.run(i) } }
}

/** Keeps `concurrency` calls in flight for `ms`, at least one per lane, and counts until the last answer. */
async function callConcurrently(
  caller: Caller, ms: number, concurrency: number,
): Promise<{ perSecond: number; last: Answered }> {
  const first = caller.next
  const start = performance.now()
  const end = start + ms
  const lane = async (): Promise<Answered> => {
    for (;;) {
      const i = caller.next++
      const answer = await caller.runner.run(i)
      if (performance.now() >= end) return { i, answer }
    }
  }
  const [last] = await Promise.all([lane(), ...Array.from({ length: concurrency - 1 }, lane)])
  return { perSecond: ((caller.next - first) * 1000) / (performance.now() - start), last }
}
