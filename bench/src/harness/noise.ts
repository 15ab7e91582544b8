import { availableParallelism, cpus, loadavg } from 'node:os'
import { summarize } from './statistics.ts'
import type { Summary } from './statistics.ts'

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
