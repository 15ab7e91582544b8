// 10,000 calls over 50 compartments with crashes, cancellations, deadlines and SIGKILLs, then a check for leaks: `pnpm
// soak`. Prints a report as JSON, and exits with 1 when anything is wrong. `--seed` repeats a run. `--calls` and the
// other options change its size.
import { inspect, parseArgs } from 'node:util'
import type { SandboxOptions } from '../src/index.ts'
import { soak } from './run.ts'
import { leftovers, tracesLeft } from './traces.ts'

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000' },
    compartments: { type: 'string', default: '50' },
    warmUp: { type: 'string', default: '10000' },
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

// Measured after a warm-up: code is compiled once, and the arenas that the allocator keeps for threads grow for a
// while.
await soak({ calls: Number(values.warmUp), compartments, seed: seed + 1, os, onCall: progressLogger('warming up') })
const before = await tracesLeft()
const began = performance.now()
const calls = Number(values.calls)
const report = await soak({ calls, compartments, seed, os, onCall: progressLogger(`with --seed ${seed}`) })
const after = await tracesLeft(before, growth)
const faults = [
  ...report.faults, ...unhandled, ...leftovers(before, after, growth),
  ...(report.settled === calls ? [] : [`${calls} calls settled ${report.settled} times`]),
]
const seconds = Math.round((performance.now() - began) / 1_000)
process.stdout.write(
  `${JSON.stringify({ seed, calls, compartments, seconds, ...report, before, after, faults }, null, 2)}\n`,
)
process.exitCode = faults.length === 0 ? 0 : 1

/** Goes to stderr, because only the report is written to stdout. */
function progressLogger(what: string): (number: number) => void {
  return (number) => {
    if (number % 1_000 === 0) process.stderr.write(`${String(number).padStart(6)} calls, ${what}\n`)
  }
}
