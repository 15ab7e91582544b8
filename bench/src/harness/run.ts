import { availableParallelism, cpus, loadavg } from 'node:os'
import { startSide, type StartedSide, type Series } from './started-side.ts'
import { summarize, type Summary } from './statistics.ts'
import type { Measure, Subject } from './subject.ts'

export interface Pace {
  readonly quick: boolean
  /** Rounded up to whole cycles of the order of sides, unless quick. */
  readonly rounds: number
  readonly warmUpMs: number
  /** Unmeasured calls before each turn. They wake the peer and fill caches that other sides evicted. */
  readonly settleMs: number
  readonly turnMs: number
  /** The longest time for one step of a side before the run fails. */
  readonly timeoutMs: number
}

export const FULL: Pace = { quick: false, rounds: 30, warmUpMs: 2000, settleMs: 5, turnMs: 50, timeoutMs: 60_000 }
export const QUICK: Pace = { quick: true, rounds: 3, warmUpMs: 20, settleMs: 1, turnMs: 5, timeoutMs: 60_000 }

export interface Recording {
  readonly rounds: number
  readonly seconds: number
  /** By the side's name, then by measure. */
  readonly series: ReadonlyMap<string, ReadonlyMap<Measure, Series>>
  readonly machine: MachineNoise
}

export type OnRound = (done: number, all: number) => void

/** Starts, checks and warms up all sides, then runs rounds in which every side takes a turn. Always stops all sides. */
export async function runSubject(subject: Subject, pace: Pace, onRound?: OnRound): Promise<Recording> {
  try {
    return await record(subject, pace, onRound)
  } catch (error) {
    throw firstFault(error)
  }
}

async function record(subject: Subject, pace: Pace, onRound?: OnRound): Promise<Recording> {
  await using started = new AsyncDisposableStack()
  const byName = new Map<string, StartedSide>()
  for (const declared of subject.sides) {
    const side = await startSide(declared, pace.timeoutMs)
    started.defer(() => side.stop())
    byName.set(declared.name, side)
  }
  const sides = [...byName.values()]
  for (const side of sides) await side.check(subject.modes)
  for (const mode of subject.modes) for (const side of sides) await side.warmUp(mode, pace.warmUpMs)

  const orders = fairOrders(sides)
  const wanted = subject.rounds ?? pace.rounds
  const rounds = pace.quick ? Math.min(pace.rounds, wanted) : Math.ceil(wanted / orders.length) * orders.length
  const meter = startNoiseMeter()
  const begin = performance.now()
  for (let round = 0; round < rounds; round++) {
    meter.sample()
    for (const mode of subject.modes) {
      for (const side of orders[round % orders.length] ?? []) {
        await side.warmUp(mode, pace.settleMs)
        await side.measure(mode, pace.turnMs)
      }
    }
    onRound?.(round + 1, rounds)
  }
  const seconds = (performance.now() - begin) / 1000
  const series = new Map(Array.from(byName, ([name, side]) => [name, side.results()]))
  return { rounds, seconds, series, machine: meter.read() }
}

/** The first failure. Later ones, of stopping the sides, are usually its consequence. */
function firstFault(error: unknown): unknown {
  return error instanceof SuppressedError ? firstFault(error.suppressed) : error
}

/**
 * The order of the sides in each round: a Williams design. Within one cycle each side takes each position equally often
 * and follows each other side equally often. So drift of the machine and garbage of the previous side affect all sides
 * alike. A shuffle achieves this only on average.
 */
export function fairOrders<T>(sides: readonly T[]): T[][] {
  const n = sides.length
  // 0, n−1, 1, n−2, 2, …: all steps between neighbours differ, so each shift makes new neighbours.
  const zigzag = Array.from({ length: n }, (_, place) => (place % 2 === 0 ? place / 2 : n - (place + 1) / 2))
  const rows = sides.map((_, shift) => zigzag.map((step) => sides[(step + shift) % n]!))
  // With an odd number of sides, each row has every step twice in one direction. The reversed rows balance that.
  return n % 2 === 0 ? rows : [...rows, ...rows.map((row) => row.toReversed())]
}

export interface Machine {
  readonly node: string
  readonly platform: string
  readonly cpu: string
  readonly cores: number
}

/** Other work of the machine: the time of a calibration loop in every round, and the load before and after. */
export interface MachineNoise {
  readonly spinMs: Summary
  readonly loadBefore: number
  readonly loadAfter: number
}

export interface NoiseMeter {
  sample(): void
  read(): MachineNoise
}

export function describeMachine(): Machine {
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model.trim() || 'unknown',
    cores: availableParallelism(),
  }
}

export function startNoiseMeter(): NoiseMeter {
  const loadBefore = load()
  const spins: number[] = []
  for (let i = 0; i < SPINS_TO_COMPILE; i++) spin()
  return {
    sample: () => void spins.push(spin()),
    read: () => ({ spinMs: summarize(spins), loadBefore, loadAfter: load() }),
  }
}

const SPINS_TO_COMPILE = 5
const SPIN_STEPS = 1_000_000

/** Milliseconds of a fixed computation. It waits for nothing, so that only the machine can make it vary. */
export function spin(): number {
  const start = performance.now()
  let state = 1
  for (let i = 0; i < SPIN_STEPS; i++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
  }
  // Xorshift never reaches zero. The test prevents that the loop is optimised away.
  if (state === 0) throw new Error('The calibration loop gave a wrong result. This machine cannot run benchmarks.')
  return performance.now() - start
}

function load(): number {
  return loadavg()[0] ?? 0
}
