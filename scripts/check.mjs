// `pnpm check`: every proof there is, each run again only when something it depends on has changed.
// Arguments go to turbo: `pnpm check --force` ignores its cache.
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runChild } from './boot/child.mjs'
import { scriptEnvironment } from './boot/environment.mjs'
import { pnpmFolder, pnpmVersion } from './boot/pnpm.mjs'
import { readManifest } from './boot/workspace.mjs'
import { readReports, removeReports } from './check/reports.mjs'
import { countTests, describeCounts, totals } from './check/summary.mjs'

const TASKS = ['lint', 'types', 'unused', 'build', 'test', 'package']

const root = fileURLToPath(new URL('..', import.meta.url))
const executables = [join(root, 'node_modules', '.bin'), pnpmFolder(root, pnpmVersion(readManifest(root)))]

// Tests start threads and processes of their own; more tasks than this at once would only make them slower and less even.
const concurrency = Math.max(2, Math.floor(availableParallelism() / 2))

removeReports(root)
const turbo = await runChild(
  join(root, 'node_modules', '.bin', 'turbo'),
  [
    ...['run', ...TASKS, '--continue=always', `--concurrency=${concurrency}`],
    ...['--output-logs=new-only', '--log-order=grouped', '--ui=stream', '--no-update-notifier', ...process.argv.slice(2)],
  ],
  { cwd: root, env: scriptEnvironment(process.env, executables) },
)

const counts = readReports(root).map(countTests)
if (turbo.code !== 0) process.stdout.write('\n✗ Not every step succeeded: turbo names them above, after “Failed:”.\n')
process.stdout.write(`${describeCounts(counts).join('\n')}\n`)
process.exitCode = turbo.code || (totals(counts).failed > 0 ? 1 : 0)
