import { describe, expect, it } from 'vitest'
import { countTests, describeCounts, totals } from '../../../scripts/check/summary.mjs'

const file = (status: string, tests: Readonly<Record<string, string>>) => ({
  name: `test/${status}.test.ts`,
  status,
  endTime: 3_500,
  assertionResults: Object.entries(tests).map(([fullName, result]) => ({ fullName, status: result })),
})
const report = (...testResults: ReturnType<typeof file>[]) => ({
  startTime: 1_000,
  success: testResults.every(({ status }) => status === 'passed'),
  testResults,
})

describe('the tests of a package are counted', () => {
  it('as passed, failed by name, and skipped', () => {
    const mixed = file('failed', { 'a works': 'passed', 'b works': 'failed', 'c works': 'skipped' })
    expect(countTests({ name: 'one', report: report(mixed, file('passed', { d: 'passed' })) })).toEqual({
      name: 'one', passed: 2, failed: 1, skipped: 1, seconds: 2.5, problems: ['one: b works'],
    })
  })

  it('with the reason of a failure and its line, but not the stack', () => {
    const stack = 'AssertionError: expected 1 to be 2\n    at file:///x/packages/one/test/b.test.ts?vitest=1:12:3\n    at run'
    const failed = {
      ...file('failed', {}), assertionResults: [{ fullName: 'b works', status: 'failed', failureMessages: [stack] }],
    }
    expect(countTests({ name: 'one', report: report(failed) }).problems).toEqual([
      'one: b works\n      AssertionError: expected 1 to be 2\n      at test/b.test.ts:12',
    ])
  })

  it('as one failure for a file that failed without a failing test', () => {
    const { failed, problems } = countTests({ name: 'one', report: report(file('failed', {})) })
    expect([failed, problems]).toEqual([1, ['one: test/failed.test.ts failed outside its tests']])
  })

  it('as one failure for an error outside the files', () => {
    const { passed, failed } = countTests({
      name: 'one', report: { ...report(file('passed', { a: 'passed' })), success: false },
    })
    expect([passed, failed]).toEqual([1, 1])
  })

  it('as one failure where there is no report', () => {
    const { failed, problems } = countTests({ name: 'one', report: undefined })
    expect([failed, problems]).toEqual([1, ['one: there is no test report, so the tests did not run to the end']])
  })

  it('as one failure where nothing ran', () => {
    expect(countTests({ name: 'one', report: report() })).toMatchObject({ passed: 0, failed: 1 })
  })
})

describe('the summary', () => {
  const counts = [
    countTests({ name: 'one', report: report(file('passed', { a: 'passed', b: 'passed' })) }),
    countTests({ name: 'longer', report: report(file('failed', { c: 'passed', d: 'failed', e: 'skipped' })) }),
  ]

  it('adds up', () => {
    expect(totals(counts)).toEqual({ passed: 3, failed: 1 })
  })

  it('has a line for each package, names the failures, and ends with a line of totals', () => {
    expect(describeCounts(counts)).toEqual([
      '',
      'Tests',
      '  ✓ one        2 passed    0 failed     2.5 s',
      '  ✗ longer     1 passed    1 failed     2.5 s, 1 skipped',
      '',
      'Failed',
      '  ✗ longer: d',
      '',
      '3 passed, 1 failed',
    ])
  })
})
