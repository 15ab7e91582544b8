// `pnpm check`: all checks and tests. Turbo skips those whose inputs have not changed.
// Arguments go to turbo: `pnpm check --force` ignores its cache.
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './boot/run.mjs'
import { inMemory } from './check/in-memory.mjs'
import { readReports, removeReports } from './check/reports.mjs'
import { countTests, describeCounts, totals } from './check/summary.mjs'
import { missingParts } from './machine.ts'

const TASKS = ['lint', 'types', 'unused', 'test']

const root = fileURLToPath(new URL('..', import.meta.url))

// Tests start threads and processes of their own. With four tasks, two cores are busy while a test waits.
const concurrency = Math.max(4, Math.floor(availableParallelism() / 2))

const compiled = { ...process.env, NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled') }
await run(process.execPath, [join(root, 'scripts/compile.mjs')], { cwd: root, env: compiled, capture: true })

const missing = missingParts()
removeReports(root)
const [command = '', ...before] = [...inMemory(root), 'turbo']
const turbo = await run(
  command,
  [
    ...before,
    ...['run', ...TASKS, '--continue=always', `--concurrency=${concurrency}`],
    ...['--output-logs=new-only', '--log-order=grouped', '--ui=stream', '--no-update-notifier', ...process.argv.slice(2)],
  ],
  // What the machine lacks changes the results, so turbo has to know it.
  // The compiler ends before garbage collection pays off: without it, it takes a quarter less CPU and 150 MB more.
  { cwd: root, env: { ...process.env, MACHINE_LACKS: missing.join(), GOGC: 'off', TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' } },
)

const counts = readReports(root).map(countTests)
if (turbo.code !== 0) process.stdout.write(`\n✗ Some steps failed. ${turbo.output || 'Turbo lists them above, after “Failed:”.'}\n`)
process.stdout.write(`${describeCounts(counts, missing).join('\n')}\n`)
process.exitCode = turbo.code || (totals(counts).failed > 0 ? 1 : 0)
