import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../scripts/machine.ts'
import { countTests, describeCounts, totals } from '../../../scripts/check/summary.mjs'

const file = (tests: Readonly<Record<string, string>>, ...errors: readonly string[]) => ({
  name: 'test/one.test.ts',
  errors: [...errors],
  endTime: 3_500,
  tests: Object.entries(tests).map(([name, state]) => ({
    name, state, ...(state === 'skipped' && { reason: 'needs zsh' }),
  })),
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
    const stack =
      'AssertionError: expected 1 to be 2\n    at file:///x/packages/one/test/b.test.ts?vitest=1:12:3\n    at run'
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
    const { passed, failed, problems } = countTests({
      name: 'one', report: report(file({ a: 'passed' }, 'Error: no', 'Error: no')),
    })
    expect([passed, failed, problems]).toEqual([
      1, 1, ['one: test/one.test.ts failed outside of its tests\n      Error: no'],
    ])
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

describe('continuous integration', needs('Linux'), () => {
  const failing = countTests({ name: 'one', report: report(file({ a: 'passed', 'b works': 'failed' })) })

  /** `.ci/run` with commands that print these texts. */
  function ciRun(check: string, walls: string, long = '0 passed, 0 failed\n') {
    const root = mkdtempSync(join(tmpdir(), 'bulkhead-ci-'))
    onTestFinished(() => rmSync(root, { recursive: true }))
    const put = (path: string, text: string) => {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
      chmodSync(join(root, path), 0o755)
    }
    put('check.txt', check)
    put('bin/npm', '#!/bin/sh\ncat check.txt\nexit 1\n')
    // It installs nothing.
    put('bin/bwrap', '')
    put('bin/chromium', '')
    put('scripts/boot.mjs', `process.stdout.write(${JSON.stringify({ walls, long })}[process.argv[2]])`)
    mkdirSync(join(root, '.ci'))
    cpSync(resolve(import.meta.dirname, '../../../.ci/run'), join(root, '.ci/run'))
    const PATH = [join(root, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':')
    const { status, stdout } = spawnSync(join(root, '.ci/run'), { env: { PATH }, encoding: 'utf8' })
    return { status, end: stdout.split('\nFailed in all\n')[1] }
  }

  it('repeats the failures of all parts before its last line', () => {
    const summary = `\n✗ Some steps failed.\n${describeCounts([failing], []).join('\n')}\n`
    const counts = describeCounts([{ ...failing, name: 'two', problems: ['two: c works'] }], []).join('\n')
    const walls = `${'a wall\n'.repeat(150)}${counts}\n`
    const long = `${describeCounts([{ ...failing, problems: ['three: d works'] }], []).join('\n')}\n`
    expect(ciRun(summary, walls, long)).toEqual({
      status: 1,
      end: '✗ Some steps failed.\n  ✗ one: b works\n      It is failed.\n  ✗ three: d works\n  ✗ two: c works\n\n'
        + '3 passed, 3 failed\n',
    })
  })

  it('fails where the page was not tested', () => {
    expect(ciRun('This machine lacks zsh and Chromium.\n\n2 passed, 0 failed\n', '\n3 passed, 0 failed\n')).toEqual({
      status: 1, end: '  ✗ Chromium could not be installed, so the tests of the page of the inspector were skipped.\n\n'
        + '5 passed, 1 failed\n',
    })
  })

  it('names a part that did not end with its counts', () => {
    expect(ciRun('killed\n', '\n3 passed, 0 failed\n')).toEqual({
      status: 1, end: '  ✗ npm --silent test: it did not end with its counts\n\n3 passed, 1 failed\n',
    })
  })
})
