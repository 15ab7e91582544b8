// `pnpm walls`: runs the tests of walls, which include the attack corpus, as on a machine without bubblewrap.
// `pnpm check` runs them with bubblewrap if it is installed. Where one of the two cannot be done, this fails.
// Ends with `N passed, N failed` on a line of its own.
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './boot/run.mjs'
import { readReport, testedPackages } from './check/reports.mjs'
import { countTests, describeCounts, totals } from './check/summary.mjs'
import { has, missingParts, WALLS, withoutBubblewrap } from './machine.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const CORPUS = '@bulkhead/sandbox'

/** @param {string} folder of a package @returns {string[]} test files with the tag */
const filesOf = (folder) => globSync('test/**/*.test.ts', { cwd: folder })
  .filter((file) => /^\/\/ @module-tag walls|\bWALLS\b.* from '.*\/machine\.ts'|needs\([^)]*'bubblewrap'/.test(readFileSync(join(folder, file), 'utf8')))

/** How many packages are tested at once: tests of walls often wait, for a process or for a deadline. */
const AT_ONCE = 2

/** @param {readonly string[]} prefix */
async function runHidden([program = '', ...args]) {
  const reports = mkdtempSync(join(tmpdir(), 'bulkhead-walls-'))
  const packages = testedPackages(root).map(({ name, folder }) => ({ name, folder, files: filesOf(folder) }))
    .filter(({ files }) => files.length > 0)
  // The one with the attack corpus takes as long as the others together.
  const waiting = packages.toSorted((a, b) => Number(b.name === CORPUS) - Number(a.name === CORPUS))
  const runNext = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { name, folder, files } = next
      const report = reportOf(name)
      const options = ['--config', relative(folder, join(root, 'vitest.shared.ts')), `--outputFile.json=${report}`]
      const vitest = ['vitest', 'run', ...options, `--tags-filter=${WALLS.tags}`, '--maxWorkers=2', ...files]
      const { output } = await run(program, [...args, ...vitest], { cwd: folder, env: process.env, capture: true })
      process.stdout.write(`${output}\n`)
    }
  }
  /** @param {string} name */
  const reportOf = (name) => join(reports, `${basename(name)}.json`)
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, runNext))
    return packages.map(({ name }) => countTests({ name, report: readReport(reportOf(name)) }))
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
