// `pnpm walls`: runs the tests of walls, which include the attack corpus, as on a machine without bubblewrap.
// `pnpm check` runs them with bubblewrap if it is installed. Where one of the two cannot be done, this fails.
// Ends with `N passed, N failed` on a line of its own.
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './boot/run.mjs'
import { readReport, testedPackages } from './check/reports.mjs'
import { countTests, describeCounts, totals } from './check/summary.mjs'
import { has, missingParts, WALLS, withoutBubblewrap } from './machine.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** @param {string} folder of a package @returns {string[]} test files with the tag */
const filesOf = (folder) => globSync('test/**/*.test.ts', { cwd: folder })
  .filter((file) => /^\/\/ @module-tag walls|['`], WALLS,|\.\.\.WALLS\b|needs\('bubblewrap'/.test(readFileSync(join(folder, file), 'utf8')))

/** @param {readonly string[]} prefix */
async function runHidden([program = '', ...args]) {
  const reports = mkdtempSync(join(tmpdir(), 'bulkhead-walls-'))
  try {
    const counts = []
    for (const { name, folder } of testedPackages(root)) {
      const files = filesOf(folder)
      if (files.length === 0) continue
      const report = join(reports, 'tests.json')
      const options = ['--config', relative(folder, join(root, 'vitest.shared.ts')), `--outputFile.json=${report}`]
      const vitest = ['vitest', 'run', ...options, `--tags-filter=${WALLS.tags}`, '--maxWorkers=2', ...files]
      await run(program, [...args, ...vitest], { cwd: folder, env: process.env })
      counts.push(countTests({ name, report: readReport(report) }))
      rmSync(report, { force: true })
    }
    return counts
  } finally {
    rmSync(reports, { recursive: true })
  }
}

const prefix = withoutBubblewrap()
const fault = !has('bubblewrap') ? 'bubblewrap does not work here, so nothing has been tested with it. Install it and allow user namespaces.'
  : prefix === undefined ? 'this user may not hide bubblewrap with a mount, so nothing can be tested without it.' : undefined
if (prefix === undefined || fault !== undefined) {
  process.stdout.write(`\nNot run: ${fault}\n\n0 passed, 1 failed\n`)
  process.exitCode = 1
} else {
  const counts = await runHidden(prefix)
  process.stdout.write(`\nThe walls without bubblewrap${describeCounts(counts, [...missingParts(), 'bubblewrap']).join('\n')}\n`)
  process.exitCode = totals(counts).failed > 0 ? 1 : 0
}
