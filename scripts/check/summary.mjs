/**
 * What `scripts/vitest/report.ts` writes for a package.
 * @typedef {object} TestReport
 * @property {number} startTime
 * @property {string[]} errors outside of all tests and files, such as unhandled rejections
 * @property {TestFile[]} files
 *
 * @typedef {object} TestFile
 * @property {string} name
 * @property {string[]} errors outside of its tests, for example in an import or a hook
 * @property {number} endTime
 * @property {Test[]} tests
 *
 * @typedef {object} Test
 * @property {string} name
 * @property {string} state
 * @property {string[]} [errors] of a failed one, or of the first run of one that then passed
 * @property {string} [reason] of a skipped one
 */

/**
 * @typedef {object} PackageTests
 * @property {string} name
 * @property {TestReport | undefined} report undefined: the tests did not run to the end
 */

/**
 * @typedef {object} Counts
 * @property {string} name
 * @property {number} passed
 * @property {number} failed
 * @property {string[]} skips the reason of each skipped test
 * @property {number} seconds
 * @property {string[]} problems the failures: names and reasons
 * @property {string[]} unsteady tests that failed and then passed
 */

/**
 * @param {PackageTests} tests
 * @returns {Counts}
 */
export function countTests({ name, report }) {
  if (!report) {
    const problem = `${name}: there is no test report, so the tests did not run to the end`
    return { name, passed: 0, failed: 1, skips: [], seconds: 0, problems: [problem], unsteady: [] }
  }
  const tests = report.files.flatMap((file) => file.tests)
  const passed = tests.filter(({ state }) => state === 'passed').length
  const problems = [
    ...report.files.flatMap((file) => problemsOf(name, file)),
    ...report.errors.map((error) => `${name}: an error outside of the tests${describeReason(error)}`),
  ]
  if (tests.length === 0 && problems.length === 0) problems.push(`${name}: ran no tests`)
  const end = Math.max(report.startTime, ...report.files.map(({ endTime }) => endTime))
  const skips = tests.filter(({ state }) => state === 'skipped').map(({ reason = 'without a reason' }) => reason)
  const unsteady = tests.filter(({ state, errors }) => state === 'passed' && errors !== undefined).map((test) => describeTest(name, test))
  return { name, passed, failed: problems.length, skips, seconds: (end - report.startTime) / 1000, problems, unsteady }
}

/**
 * A file that fails outside of its tests is one failure, however many of its tests did not run. A test that did not end
 * is one too.
 * @param {string} name
 * @param {TestFile} file
 * @returns {string[]}
 */
function problemsOf(name, file) {
  const failed = file.tests.filter(({ state }) => state !== 'passed' && state !== 'skipped')
  return [
    ...failed.map((test) => describeTest(name, test)),
    ...file.errors.slice(0, 1).map((error) => `${name}: ${file.name} failed outside of its tests${describeReason(error)}`),
  ]
}

/**
 * @param {string} name of its package
 * @param {Test} test
 * @returns {string}
 */
const describeTest = (name, { name: title, state, errors: [reason = `It is ${state}.`] = [] }) => `${name}: ${title}${describeReason(reason)}`

const REASON_CHARS = 1_500

/**
 * The log of a run may be cut off above the summary, so the summary says why a test failed.
 * @param {string} text an error with its stack
 * @returns {string} the message and the line of the test, on indented lines
 */
function describeReason(text) {
  const [message = ''] = text.split('\n    at ', 1)
  const [, file, line] = /([\w./-]+\.test\.ts)[^\s:]*:(\d+)/.exec(text) ?? []
  const lines = [...message.slice(0, REASON_CHARS).split('\n'), ...(file ? [`at ${file.replace(/^.*\/(?=test\/)/, '')}:${line}`] : [])]
  return lines.filter((each) => each !== '').map((each) => `\n      ${each}`).join('')
}

/**
 * @param {readonly Counts[]} counts
 * @param {readonly string[]} missing what tests would use and this machine lacks
 * @returns {string[]} lines: what is missing, one for each package, the failures, the skipped tests, and the totals last
 */
export function describeCounts(counts, missing) {
  const width = Math.max(0, ...counts.map(({ name }) => name.length))
  const problems = counts.flatMap((each) => each.problems).map((problem) => `  ✗ ${problem}`)
  const unsteady = counts.flatMap((each) => each.unsteady).map((test) => `  ~ ${test}`)
  const skips = describeSkips(counts.flatMap((each) => each.skips))
  const { passed, failed } = totals(counts)
  return [
    ...(missing.length > 0 ? ['', `This machine lacks ${missing.join(', ')}.`] : []),
    ...['', 'Tests', ...counts.map((each) => describePackage(each, width))],
    ...(problems.length > 0 ? ['', 'Failed', ...problems] : []),
    ...(unsteady.length > 0 ? ['', 'Unsteady: failed once, then passed', ...unsteady] : []),
    ...(skips.length > 0 ? ['', 'Skipped', ...skips] : []),
    ...['', `${passed} passed, ${failed} failed`],
  ]
}

/**
 * @param {readonly string[]} reasons
 * @returns {string[]} a line for each reason, with its number of tests
 */
function describeSkips(reasons) {
  const groups = Object.entries(Object.groupBy(reasons, (reason) => reason))
  return groups.map(([reason, all = []]) => `  ${String(all.length).padStart(5)} ${reason}`).toSorted().toReversed()
}

/**
 * @param {Counts} counts
 * @param {number} width of the longest name
 * @returns {string}
 */
function describePackage({ name, passed, failed, skips, seconds }, width) {
  const numbers = `${String(passed).padStart(5)} passed ${String(failed).padStart(4)} failed ${seconds.toFixed(1).padStart(7)} s`
  return `  ${failed > 0 ? '✗' : '✓'} ${name.padEnd(width)} ${numbers}${skips.length > 0 ? `, ${skips.length} skipped` : ''}`
}

/**
 * @param {readonly Counts[]} counts
 * @returns {{ passed: number, failed: number }}
 */
export function totals(counts) {
  return {
    passed: counts.reduce((sum, each) => sum + each.passed, 0),
    failed: counts.reduce((sum, each) => sum + each.failed, 0),
  }
}
