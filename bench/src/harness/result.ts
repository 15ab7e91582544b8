import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { errorCode } from '@bulkhead/kit/error-message'
import { describeMachine, type Machine, type MachineNoise, type Pace, type Recording } from './run.ts'
import { summarize, type Summary } from './statistics.ts'
import type { Goal, Measure, Ratio, Subject } from './subject.ts'

/** One run of one subject, as `latest.json` stores it. */
export interface Result {
  readonly title: string
  readonly compares: string
  readonly date: string
  readonly machine: Machine
  /** A quick run shows that the sides work. Do not use its numbers. */
  readonly quick: boolean
  readonly rounds: number
  readonly seconds: number
  readonly sides: readonly SideResult[]
  readonly ratios: readonly RatioResult[]
  readonly noise: Noise
}

export interface SideResult {
  readonly name: string
  readonly measures: readonly MeasureResult[]
}

export type Unit = 'µs' | 'calls/s' | 'MB' | 'ms' | 'tokens'

export interface MeasureResult {
  readonly measure: Measure
  readonly unit: Unit
  readonly value: number
  /** The spread of the side's own rounds. */
  readonly spread: number
}

/** The ratios of the rounds. Both sides of a round ran on the machine in the same state. */
export interface RatioResult extends Ratio, Partial<Pick<Goal, 'is' | 'ratio'>>, Omit<Summary, 'spread'> {
  /** Present if there is a goal. */
  readonly met?: boolean
  /** False if the goal lies between the quartiles of the ratios. Then the result is within the noise. */
  readonly clear?: boolean
}

export interface Noise extends MachineNoise {
  /** The median spread of all measures of all sides, and the widest. */
  readonly typical: number
  readonly widest: { readonly side: string; readonly measure: Measure; readonly spread: number }
  readonly quiet: boolean
}

/**
 * Above these values the machine did too much other work: the spread of the calibration loop, the typical spread of a
 * side, and the load per core before the run.
 */
const QUIET = { spin: 0.1, typical: 0.2, load: 1 }

export function resultOf(subject: Subject, pace: Pace, recording: Recording): Result {
  const machine = describeMachine()
  const sides = Array.from(recording.series, ([name, measures]): SideResult => ({
    name,
    measures: Array.from(measures, ([measure, { byRound, whole }]) => ({
      measure,
      unit: unitOf(measure),
      value: whole,
      spread: summarize(byRound).spread,
    })),
  }))
  return {
    title: subject.title,
    compares: subject.compares,
    date: new Date().toISOString(),
    machine,
    quick: pace.quick,
    rounds: recording.rounds,
    seconds: recording.seconds,
    sides,
    ratios: subject.ratios.map((ratio) => ratioOf(ratio, recording)),
    noise: noiseOf(sides, recording.machine, machine.cores),
  }
}

function unitOf(measure: Measure): Unit {
  if (measure === 'idle') return 'MB'
  if (measure === 'cpu' || measure === 'first') return 'ms'
  if (measure === 'tokens') return 'tokens'
  return measure.endsWith('-way') ? 'calls/s' : 'µs'
}

function ratioOf(ratio: Ratio | Goal, recording: Recording): RatioResult {
  const rounds = (side: string) => recording.series.get(side)?.get(ratio.measure)?.byRound ?? []
  const against = rounds(ratio.against)
  const { median, low, high } = summarize(rounds(ratio.side).map((value, round) => value / (against[round] ?? NaN)))
  if (!('is' in ratio)) return { ...ratio, median, low, high }
  const holds = (value: number) => (ratio.is === '≤' ? value <= ratio.ratio : value >= ratio.ratio)
  return { ...ratio, median, low, high, met: holds(median), clear: holds(low) === holds(high) }
}

function noiseOf(sides: readonly SideResult[], machine: MachineNoise, cores: number): Noise {
  const spreads = sides.flatMap((side) => side.measures
    // The p99 of a round depends on a few calls and always varies.
    .filter(({ measure }) => measure !== 'p99')
    .map(({ measure, spread }) => ({ side: side.name, measure, spread })))
  const typical = summarize(spreads.map(({ spread }) => spread)).median
  const widest = spreads.reduce((wider, one) => (one.spread > wider.spread ? one : wider))
  const quiet = machine.spinMs.spread <= QUIET.spin && typical <= QUIET.typical
    && machine.loadBefore < QUIET.load * cores
  return { ...machine, typical, widest, quiet }
}

/** The latest result of each subject, by name. */
export interface Latest {
  readonly subjects: Readonly<Record<string, Result>>
}

export function latestOf(results: Iterable<readonly [string, Result]>): Latest {
  return { subjects: Object.fromEntries([...results].toSorted(([a], [b]) => (a < b ? -1 : 1))) }
}

export function serialize(latest: Latest): string {
  const rounded = (_: string, value: unknown) => (typeof value === 'number' ? significant(value) : value)
  return `${JSON.stringify(latest, rounded, 2)}\n`
}

/** Replaces the results of these subjects and keeps the others. The file is replaced atomically. */
export async function mergeLatest(file: string, results: ReadonlyMap<string, Result>): Promise<void> {
  const merged = latestOf(new Map([...(await readSubjects(file)), ...results]))
  const draft = `${file}.${process.pid}.draft`
  try {
    await writeFile(draft, serialize(merged))
    await rename(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
}

async function readSubjects(file: string): Promise<[string, Result][]> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  }
  try {
    const { subjects } = JSON.parse(text) as Latest
    return Object.entries(subjects)
  } catch (error) {
    const message = `${file} does not contain benchmark results and was not changed.`
      + ' Remove it, or name another file with --out.'
    throw new Error(message, { cause: error })
  }
}

/** Four digits. More would be noise and would change in every run. */
function significant(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(4))
}
