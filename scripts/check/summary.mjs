/**
 * The part of vitest's JSON report that is counted.
 * @typedef {object} TestReport
 * @property {number} startTime
 * @property {boolean} success
 * @property {TestFile[]} testResults
 *
 * @typedef {object} TestFile
 * @property {string} name
 * @property {string} status
 * @property {number} endTime
 * @property {{ fullName: string, status: string, failureMessages?: string[] }[]} assertionResults
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
 * @property {number} skipped
 * @property {number} seconds
 * @property {string[]} problems the failures: names and reasons
 */

/**
 * @param {PackageTests} tests
 * @returns {Counts}
 */
export function countTests({ name, report }) {
  if (!report) {
    const problem = `${name}: there is no test report, so the tests did not run to the end`
    return { name, passed: 0, failed: 1, skipped: 0, seconds: 0, problems: [problem] }
  }
  const tests = report.testResults.flatMap((file) => file.assertionResults)
  const passed = tests.filter(({ status }) => status === 'passed').length
  const problems = report.testResults.flatMap((file) => problemsOf(name, file))
  if (tests.length === 0 && problems.length === 0) problems.push(`${name}: ran no tests`)
  if (!report.success && problems.length === 0) problems.push(`${name}: an error outside the tests`)
  const end = Math.max(report.startTime, ...report.testResults.map(({ endTime }) => endTime))
  const skipped = tests.filter(({ status }) => status !== 'passed' && status !== 'failed').length
  return { name, passed, failed: problems.length, skipped, seconds: (end - report.startTime) / 1000, problems }
}

/**
 * A file can fail without a failing test, for example in an import or a hook. That counts as one failure.
 * @param {string} name
 * @param {TestFile} file
 * @returns {string[]}
 */
function problemsOf(name, file) {
  const failed = file.assertionResults.filter(({ status }) => status === 'failed')
  if (failed.length > 0) return failed.map(({ fullName, failureMessages: [reason = ''] = [] }) => `${name}: ${fullName}${describeReason(reason)}`)
  return file.status === 'failed' ? [`${name}: ${file.name} failed outside its tests`] : []
}

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
 * @returns {string[]} lines: one for each package, the failures, and the totals on the last line
 */
export function describeCounts(counts) {
  const width = Math.max(0, ...counts.map(({ name }) => name.length))
  const problems = counts.flatMap((each) => each.problems).map((problem) => `  ✗ ${problem}`)
  const { passed, failed } = totals(counts)
  return [
    ...['', 'Tests', ...counts.map((each) => describePackage(each, width))],
    ...(problems.length > 0 ? ['', 'Failed', ...problems] : []),
    ...['', `${passed} passed, ${failed} failed`],
  ]
}

/**
 * @param {Counts} counts
 * @param {number} width of the longest name
 * @returns {string}
 */
function describePackage({ name, passed, failed, skipped, seconds }, width) {
  const numbers = `${String(passed).padStart(5)} passed ${String(failed).padStart(4)} failed ${seconds.toFixed(1).padStart(7)} s`
  return `  ${failed > 0 ? '✗' : '✓'} ${name.padEnd(width)} ${numbers}${skipped > 0 ? `, ${skipped} skipped` : ''}`
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
