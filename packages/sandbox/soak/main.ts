// 10,000 calls over 50 compartments with crashes, cancels, deadlines and SIGKILLs, then a look at what is left: `pnpm soak`.
// Prints a report as JSON, and ends with 1 when anything is wrong. `--seed` of that report does the same again, `--calls` and
// the other options more or less of it.
import { inspect, parseArgs } from 'node:util'
import type { SandboxOptions } from '../src/index.ts'
import { soak } from './run.ts'
import { leftovers, tracesLeft } from './traces.ts'

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000' },
    compartments: { type: 'string', default: '50' },
    warmUp: { type: 'string', default: '3000' },
    os: { type: 'string', default: 'auto' },
    growth: { type: 'string', default: '1.1' },
    seed: { type: 'string', default: `${Date.now() % 2 ** 32}` },
  },
})
const seed = Number(values.seed)
const os = values.os as NonNullable<SandboxOptions['os']>
const compartments = Number(values.compartments)
const growth = Number(values.growth)
const unhandled: string[] = []
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    unhandled.push(`${event}: ${String(error)}`)
    process.exitCode = 1
    process.stderr.write(`${event}: ${inspect(error)}\n`)
  })
}

// What is started and compiled once belongs to the start, and the arenas that an allocator keeps for threads: those grow for a while.
await soak({ calls: Number(values.warmUp), compartments, seed: seed + 1, os, onCall: teller('warming up') })
const before = await tracesLeft()
const began = performance.now()
const calls = Number(values.calls)
const report = await soak({ calls, compartments, seed, os, onCall: teller(`with --seed ${seed}`) })
const after = await tracesLeft(before, growth)
const faults = [
  ...report.faults, ...unhandled, ...leftovers(before, after, growth),
  ...(report.settled === calls ? [] : [`${calls} calls settled ${report.settled} times`]),
]
const seconds = Math.round((performance.now() - began) / 1_000)
process.stdout.write(`${JSON.stringify({ seed, calls, compartments, seconds, ...report, before, after, faults }, null, 2)}\n`)
process.exitCode = faults.length === 0 ? 0 : 1

/** Beside the report, which alone is written to the output. */
function teller(what: string): (number: number) => void {
  return (number) => {
    if (number % 1_000 === 0) process.stderr.write(`${String(number).padStart(6)} calls, ${what}\n`)
  }
}
