// `pnpm corpus`: runs the attack corpus as on a machine without bubblewrap. `pnpm check` runs it with bubblewrap if it is installed.
// Ends with `N passed, N failed` on a line of its own.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './boot/run.mjs'
import { readReport } from './check/reports.mjs'
import { countTests, describeCounts } from './check/summary.mjs'

const NAME = 'attack corpus without bubblewrap'
const sandbox = fileURLToPath(new URL('../packages/sandbox', import.meta.url))
const bwrap = ['/usr/bin/bwrap', '/bin/bwrap', '/usr/sbin/bwrap', '/sbin/bwrap'].find((path) => existsSync(path))
// Mounts a file that cannot be executed over the program, for this command and its children only.
const asRoot = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']
const hidden = ['--mount', ...asRoot, 'sh', '-c', `mount --bind /dev/null ${bwrap} && exec "$@"`, 'sh']

/** @param {string} reason */
const skip = (reason) => process.stdout.write(`\nNot run: ${reason}\n\n0 passed, 0 failed\n`)

if (bwrap === undefined) {
  skip('bubblewrap is not installed. `pnpm check` runs the corpus without it.')
} else if (spawnSync('unshare', [...hidden, 'true']).status !== 0) {
  skip('this user may not hide bubblewrap with a mount.')
} else {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-corpus-'))
  try {
    const report = join(folder, 'tests.json')
    const vitest = ['vitest', 'run', '--config', '../../vitest.shared.ts', `--outputFile.json=${report}`, 'test/corpus.test.ts']
    await run('unshare', [...hidden, ...vitest], { cwd: sandbox, env: process.env })
    const counts = countTests({ name: NAME, report: readReport(report) })
    process.stdout.write(`${describeCounts([counts]).join('\n')}\n`)
    process.exitCode = counts.failed > 0 ? 1 : 0
  } finally {
    rmSync(folder, { recursive: true })
  }
}
