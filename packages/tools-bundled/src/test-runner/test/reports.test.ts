import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readCargoReport } from '../readers/cargo-report.ts'
import { readGoReport } from '../readers/go-report.ts'
import { readJsonReport } from '../readers/json-report.ts'
import { readNodeReport, readPytestReport } from '../readers/junit-report.ts'

/** Output of real runners of these versions, with the folder of the project replaced by /project. */
const recorded = (name: string): string => readFileSync(join(import.meta.dirname, 'recorded', name), 'utf8')
const nothing = { stdout: '', stderr: '' }

it('reads jest', () => {
  expect(readJsonReport({ stdout: recorded('jest-30.json'), stderr: '' })).toEqual({
    passed: 1, failed: 1, errors: 1, skipped: 2,
    failures: [
      {
        name: 'sums fails', file: '/project/sum.test.js', line: 5,
        message: expect.stringMatching(/^Error: expect\(received\)[^]*"a": 1,\n {2}}$/) as string,
      },
      {
        name: '/project/broken.test.js', file: '/project/broken.test.js', line: 1,
        message: expect.stringContaining("Cannot find module './missing'") as string, isError: true,
      },
    ],
  })
})

it('reads vitest', () => {
  expect(readJsonReport({ stdout: recorded('vitest-5.txt'), stderr: '' })).toEqual({
    passed: 1, failed: 1, errors: 1, skipped: 2,
    failures: [
      {
        name: 'sums fails', file: '/project/a.test.ts', line: 6,
        message: 'AssertionError: expected { a: 1 } to deeply equal { a: 2 }',
      },
      {
        name: '/project/b.test.ts', file: '/project/b.test.ts', line: undefined,
        message: expect.stringContaining('./missing.ts') as string, isError: true,
      },
    ],
  })
})

it('reads pytest', () => {
  expect(readPytestReport({ stdout: recorded('pytest-9.txt'), stderr: '' })).toEqual({
    passed: 2, failed: 3, errors: 2, skipped: 1,
    failures: [
      {
        name: 'test_b', file: 'test_b.py', line: 1, message: "ModuleNotFoundError: No module named 'nothing_here'",
        isError: true,
      },
      { name: 'test_a.test_bad', file: 'test_a.py', line: 5, message: 'AssertionError: nope <&>\nassert 1 == 2' },
      {
        name: 'test_a.test_err', file: 'test_a.py', line: 9, message: 'failed on setup with "RuntimeError: fixture"',
        isError: true,
      },
      { name: 'test_a.test_p[2]', file: 'test_a.py', line: 12, message: 'assert 2 == 1' },
      { name: 'test_a.TestK.test_m', file: 'test_a.py', line: 14, message: 'ValueError: v\nw' },
    ],
  })
})

it('reads what pytest says of a file that is not valid Python', () => {
  const text = 'importlib/__init__.py:126: in import_module\nE     File &quot;/project/test_x.py&quot;, line 3\n'
    + 'E       def test_x(:\nE                  ^\nE   SyntaxError: invalid syntax'
  const stdout = `<?xml version="1.0"?><testsuites><testsuite name="pytest"><testcase classname="" name="test_x" `
    + `file="test_x.py"><error message="collection failure">${text}</error></testcase></testsuite></testsuites>`
  expect(readPytestReport({ stdout, stderr: '' })?.failures).toEqual([
    { name: 'test_x', file: 'test_x.py', line: 3, message: 'SyntaxError: invalid syntax', isError: true },
  ])
})

it('reads what a test of pytest printed', () => {
  const stdout = '<?xml version="1.0"?><testsuites><testsuite name="pytest"><testcase classname="test_a" '
    + 'name="test_x" file="test_a.py" line="0">'
    + '<failure message="assert 0">E</failure><system-out>CAPTURED\n</system-out></testcase></testsuite></testsuites>'
  expect(readPytestReport({ stdout, stderr: '' })?.failures).toMatchObject([
    { name: 'test_a.test_x', output: 'CAPTURED' },
  ])
})

it('reads go', () => {
  expect(
    readGoReport({ stdout: recorded('go-1.19.jsonl'), stderr: recorded('go-1.19.stderr.txt') }, 'example.org/demo'),
  ).toEqual({
    passed: 2, failed: 3, errors: 1, skipped: 1,
    failures: [
      { name: 'TestBad', file: 'a_test.go', line: 6, message: 'a_test.go:6: note\n    a_test.go:6: got 1' },
      { name: 'TestSub/inner_a', file: 'a_test.go', line: 9, message: 'a_test.go:9: inner' },
      {
        name: 'TestPanic', file: '/project/sub/p_test.go', line: 5,
        message: expect.stringMatching(/^panic: assignment to entry in nil map/) as string,
      },
      {
        name: 'example.org/demo/broken', file: 'broken/b_test.go', line: 3,
        message: 'broken/b_test.go:3:28: undefined: undefined', isError: true,
      },
    ],
  })
})

it('reads what newer versions of go say of a package that does not compile', () => {
  const events = [
    { ImportPath: 'm/x [m/x.test]', Action: 'build-output', Output: '# m/x [m/x.test]\n' },
    { ImportPath: 'm/x [m/x.test]', Action: 'build-output', Output: 'x/x_test.go:4:2: undefined: y\n' },
    { ImportPath: 'm/x [m/x.test]', Action: 'build-fail' },
    { Action: 'fail', Package: 'm/x', FailedBuild: 'm/x [m/x.test]' },
  ]
  expect(
    readGoReport({ stdout: events.map((event) => JSON.stringify(event)).join('\n'), stderr: '' }, 'm'),
  ).toMatchObject({
    failed: 0, errors: 1,
    failures: [{ name: 'm/x', file: 'x/x_test.go', line: 4, message: 'x/x_test.go:4:2: undefined: y' }],
  })
})

it('reads cargo', () => {
  expect(readCargoReport({ stdout: recorded('cargo-1.95.txt'), stderr: '' })).toEqual({
    passed: 1, failed: 5, errors: 0, skipped: 1,
    failures: [
      {
        name: 'tests::bad', file: 'src/lib.rs', line: 10,
        message: 'assertion `left == right` failed: numbers\n  left: 1\n right: 2',
      },
      { name: 'tests::err', file: undefined, line: undefined, message: 'Error: "sad"' },
      {
        name: 'tests::no_panic', file: 'src/lib.rs', line: 16,
        message: 'note: test did not panic as expected at src/lib.rs:16:8',
      },
      { name: 'it', file: 'tests/it.rs', line: 1, message: 'two\nlines' },
      {
        name: 'src/lib.rs - one (line 1)', file: 'src/lib.rs', line: 1,
        message: expect.stringContaining('assertion `left == right` failed') as string,
      },
    ],
  })
  expect(readCargoReport({ stdout: '', stderr: recorded('cargo-1.95-broken.stderr.txt') })).toEqual({
    passed: 0, failed: 0, errors: 1, skipped: 0,
    failures: [{ name: 'src/lib.rs', file: 'src/lib.rs', line: 20, message: 'mismatched types', isError: true }],
  })
})

it('finds nothing in other output', () => {
  const outputs = [
    '', 'no report', '{"num', '{"numTotalTests":1}', '<?xml version="1.0"?><testsuites>', '{}\n[]\n',
    '</testsuites><?xml ',
  ]
  for (const stdout of outputs) {
    for (const read of [readJsonReport, readNodeReport, readPytestReport, readCargoReport])
      expect(read({ ...nothing, stdout })).toBeUndefined()
    expect(readGoReport({ ...nothing, stdout }, 'm')).toBeUndefined()
  }
})
