import { describe, expect, it } from 'vitest'
import { countTests, describeCounts, totals } from '../../../scripts/check/summary.mjs'

const file = (tests: Readonly<Record<string, string>>, ...errors: readonly string[]) => ({
  name: 'test/one.test.ts',
  errors: [...errors],
  endTime: 3_500,
  tests: Object.entries(tests).map(([name, state]) => ({ name, state, ...(state === 'skipped' && { reason: 'needs zsh' }) })),
})
const report = (...files: ReturnType<typeof file>[]) => ({ startTime: 1_000, errors: [] as string[], files })

describe('the tests of a package are counted', () => {
  it('as passed, failed by name, and skipped with a reason', () => {
    const mixed = file({ 'a works': 'passed', 'b works': 'failed', 'c works': 'skipped' })
    expect(countTests({ name: 'one', report: report(mixed, file({ d: 'passed' })) })).toEqual({
      name: 'one', passed: 2, failed: 1, skips: ['needs zsh'], seconds: 2.5,
      problems: ['one: b works\n      It is failed.'], unsteady: [],
    })
  })

  it('with the reason of a failure and its line, but not the stack', () => {
    const stack = 'AssertionError: expected 1 to be 2\n    at file:///x/packages/one/test/b.test.ts?vitest=1:12:3\n    at run'
    const failed = { ...file({}), tests: [{ name: 'b works', state: 'failed', errors: [stack] }] }
    expect(countTests({ name: 'one', report: report(failed) }).problems).toEqual([
      'one: b works\n      AssertionError: expected 1 to be 2\n      at test/b.test.ts:12',
    ])
  })

  it('as passed and unsteady if it failed once', () => {
    const twice = { ...file({}), tests: [{ name: 'b works', state: 'passed', errors: ['Error: late'] }] }
    const { passed, failed, unsteady } = countTests({ name: 'one', report: report(twice) })
    expect([passed, failed, unsteady]).toEqual([1, 0, ['one: b works\n      Error: late']])
  })

  it('as one failure for a file that failed outside of its tests, whether they passed or not', () => {
    const { passed, failed, problems } = countTests({ name: 'one', report: report(file({ a: 'passed' }, 'Error: no', 'Error: no')) })
    expect([passed, failed, problems]).toEqual([1, 1, ['one: test/one.test.ts failed outside of its tests\n      Error: no']])
  })

  it('as failures for errors outside of the files, and for tests that did not end', () => {
    const { passed, failed, problems } = countTests({
      name: 'one', report: { ...report(file({ a: 'passed', b: 'pending' })), errors: ['Error: lost\n    at here'] },
    })
    expect([passed, failed]).toEqual([1, 2])
    expect(problems).toEqual(['one: b\n      It is pending.', 'one: an error outside of the tests\n      Error: lost'])
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
    countTests({ name: 'one', report: report(file({ a: 'passed', b: 'passed' })) }),
    countTests({ name: 'longer', report: report(file({ c: 'passed', d: 'failed', e: 'skipped' })) }),
  ]

  it('adds up', () => {
    expect(totals(counts)).toEqual({ passed: 3, failed: 1 })
  })

  it('begins with what the machine lacks, counts skips for each reason, and ends with a line of totals', () => {
    expect(describeCounts(counts, ['bubblewrap', 'zsh'])).toEqual([
      '',
      'This machine lacks bubblewrap, zsh.',
      '',
      'Tests',
      '  ✓ one        2 passed    0 failed     2.5 s',
      '  ✗ longer     1 passed    1 failed     2.5 s, 1 skipped',
      '',
      'Failed',
      '  ✗ longer: d\n      It is failed.',
      '',
      'Skipped',
      '      1 needs zsh',
      '',
      '3 passed, 1 failed',
    ])
  })
})
