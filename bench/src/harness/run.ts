import { startContestant, type Contestant, type Series } from './contestant.ts'
import { startNoiseMeter, type MachineNoise } from './noise.ts'
import type { Measure, Subject } from './subject.ts'

export interface Pace {
  readonly quick: boolean
  /** Rounded up to whole cycles of the fair order, unless quick. */
  readonly rounds: number
  readonly warmUpMs: number
  /** Unmeasured calls before each turn: they wake the peer and fill the caches that other sides emptied. */
  readonly settleMs: number
  readonly turnMs: number
  /** How long a side may take for one step before the run is given up. */
  readonly patienceMs: number
}

export const FULL: Pace = { quick: false, rounds: 30, warmUpMs: 2000, settleMs: 5, turnMs: 50, patienceMs: 60_000 }
export const QUICK: Pace = { quick: true, rounds: 3, warmUpMs: 20, settleMs: 1, turnMs: 5, patienceMs: 20_000 }

export interface Recording {
  readonly rounds: number
  readonly seconds: number
  /** By the side's name, then by measure. */
  readonly series: ReadonlyMap<string, ReadonlyMap<Measure, Series>>
  readonly machine: MachineNoise
}

export type OnRound = (done: number, all: number) => void

/** Start, check, warm up, then rounds in which every side has its turn. However it ends, what was started is stopped. */
export async function runSubject(subject: Subject, pace: Pace, onRound?: OnRound): Promise<Recording> {
  try {
    return await record(subject, pace, onRound)
  } catch (error) {
    throw firstFault(error)
  }
}

async function record(subject: Subject, pace: Pace, onRound?: OnRound): Promise<Recording> {
  await using started = new AsyncDisposableStack()
  const contestants = new Map<string, Contestant>()
  for (const side of subject.sides) {
    const contestant = await startContestant(side, pace.patienceMs)
    started.defer(() => contestant.stop())
    contestants.set(side.name, contestant)
  }
  const lineUp = [...contestants.values()]
  for (const contestant of lineUp) await contestant.check(subject.modes)
  for (const mode of subject.modes) for (const contestant of lineUp) await contestant.warmUp(mode, pace.warmUpMs)

  const orders = fairOrders(lineUp)
  const wanted = subject.rounds ?? pace.rounds
  const rounds = pace.quick ? Math.min(pace.rounds, wanted) : Math.ceil(wanted / orders.length) * orders.length
  const meter = startNoiseMeter()
  const begin = performance.now()
  for (let round = 0; round < rounds; round++) {
    meter.sample()
    for (const mode of subject.modes) {
      for (const contestant of orders[round % orders.length] ?? []) {
        await contestant.warmUp(mode, pace.settleMs)
        await contestant.compete(mode, pace.turnMs)
      }
    }
    onRound?.(round + 1, rounds)
  }
  const seconds = (performance.now() - begin) / 1000
  const series = new Map(Array.from(contestants, ([name, contestant]) => [name, contestant.results()]))
  return { rounds, seconds, series, machine: meter.read() }
}

/** What failed first: that sides then could not be stopped either is mostly its consequence, and never the news. */
function firstFault(error: unknown): unknown {
  return error instanceof SuppressedError ? firstFault(error.suppressed) : error
}

/**
 * The orders in which sides take their turns, one row per round: a Williams design. Within one cycle of rows each side
 * stands at each place equally often and follows each other side equally often, so neither drift of the machine nor
 * garbage left by a neighbour falls on one side more than on another. A shuffle would give that only on average.
 */
export function fairOrders<T>(sides: readonly T[]): T[][] {
  const n = sides.length
  // 0, n−1, 1, n−2, 2, …: the steps between neighbours are all different, so each shift of it makes new neighbours.
  const zigzag = Array.from({ length: n }, (_, place) => (place % 2 === 0 ? place / 2 : n - (place + 1) / 2))
  const rows = sides.map((_, shift) => zigzag.flatMap((step) => sides.slice((step + shift) % n, ((step + shift) % n) + 1)))
  // With an odd number the same row holds each step twice in one direction; its mirror image evens them out.
  return n % 2 === 0 ? rows : [...rows, ...rows.map((row) => row.toReversed())]
}
