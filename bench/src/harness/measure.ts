import { ascending, quantile } from './statistics.ts'
import type { Measure, Mode, Runner } from './subject.ts'

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
