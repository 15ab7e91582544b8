import { globSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { run } from '../boot/run.mjs'
import { readReport, testedPackages } from './reports.mjs'
import { countTests } from './summary.mjs'

/** @import { Counts } from './summary.mjs' */

/** How many packages are tested at once: these tests often wait, for a process or for a deadline. */
const AT_ONCE = 2
/** They take longest: the attack corpus, and all that starts hosts. */
const FIRST = new Set(['@bulkhead/sandbox', 'bulkhead'])

/**
 * Runs the tests with a tag in all packages, the long ones of them included.
 * @param {string} root
 * @param {string} tag
 * @param {RegExp} marks what stands in each file that has such tests
 * @param {readonly string[]} [prefix] of each command
 * @returns {Promise<Counts[]>}
 */
export async function runTagged(root, tag, marks, prefix = []) {
  // Not in the folder of temporary files: a prefix may put another one in its place.
  const packages = testedPackages(root)
    .map(({ name, folder, report }) => ({ name, folder, files: filesOf(folder, marks), report: join(dirname(report), `${tag}.json`) }))
    .filter(({ files }) => files.length > 0)
  for (const { report } of packages) rmSync(report, { force: true })
  const waiting = packages.toSorted((a, b) => Number(FIRST.has(b.name)) - Number(FIRST.has(a.name)))
  const runNext = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { folder, files, report } = next
      const options = ['--config', relative(folder, join(root, 'vitest.shared.ts')), `--outputFile.json=${report}`]
      const vitest = ['vitest', 'run', ...options, '--mode', 'long', `--tags-filter=${tag}`, '--maxWorkers=2', ...files]
      const [program = '', ...args] = [...prefix, ...vitest]
      const { output } = await run(program, args, { cwd: folder, env: process.env, capture: true })
      process.stdout.write(`${output}\n`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, runNext))
  return packages.map(({ name, report }) => countTests({ name, report: readReport(report) }))
}

/** @param {string} folder of a package @param {RegExp} marks @returns {string[]} */
const filesOf = (folder, marks) => globSync(['test/**/*.test.ts', 'src/*/test/**/*.test.ts'], { cwd: folder })
  .filter((file) => marks.test(readFileSync(join(folder, file), 'utf8')))
