// `pnpm corpus`: the attack corpus as on a machine without bubblewrap. The check runs it with all that this machine has; this is the
// other half. A half that cannot run here is named. Ends with `N passed, N failed` on a line of its own.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runChild } from './boot/child.mjs'
import { countTests, describeCounts } from './check/summary.mjs'

const NAME = 'attack corpus without bubblewrap'
const sandbox = fileURLToPath(new URL('../packages/sandbox', import.meta.url))
const bwrap = ['/usr/bin/bwrap', '/bin/bwrap', '/usr/sbin/bwrap', '/sbin/bwrap'].find((path) => existsSync(path))
// A file that cannot be executed covers the program, for this command and what it starts alone.
const asRoot = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']
const hidden = ['--mount', ...asRoot, 'sh', '-c', `mount --bind /dev/null ${bwrap} && exec "$@"`, 'sh']

/**
 * @param {string} half
 * @param {string} why
 */
function notRun(half, why) {
  process.stdout.write(`\nnot run: the ${half}: ${why}\n\n0 passed, 0 failed\n`)
}

if (bwrap === undefined) {
  notRun('attack corpus with bubblewrap', 'it is not installed. The check ran the corpus without it.')
} else if (spawnSync('unshare', [...hidden, 'true']).status !== 0) {
  notRun(NAME, 'this user cannot hide it.')
} else {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-corpus-'))
  try {
    const report = join(folder, 'tests.json')
    const vitest = ['vitest', 'run', '--config', '../../vitest.shared.ts', `--outputFile.json=${report}`, 'test/corpus.test.ts']
    await runChild('unshare', [...hidden, ...vitest], { cwd: sandbox, env: process.env })
    const counts = countTests({ name: NAME, report: existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : undefined })
    process.stdout.write(`${describeCounts([counts]).join('\n')}\n`)
    process.exitCode = counts.failed > 0 ? 1 : 0
  } finally {
    rmSync(folder, { recursive: true })
  }
}
