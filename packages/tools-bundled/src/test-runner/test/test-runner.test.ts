import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import type { BulkheadError } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { createSandbox } from '@bulkhead/sandbox'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readArguments } from '../test-runner.ts'
import { runsIf } from '../../../../../scripts/skips.ts'
import { LONG, ONLY_IN_SOAK } from '../../../../../scripts/thoroughly.ts'
import { toolRequest } from '../../../test/tool-request.ts'

const PATH = (process.env['PATH'] ?? '').split(':').filter((folder) => folder.startsWith('/'))
// The last one is set if the host itself runs in a test of node.
const env = { HOME: process.env['HOME'] ?? '/dev/null', LANG: 'C.UTF-8', NODE_TEST_CONTEXT: 'child-v8' }
const has = (program: string, ...args: readonly string[]): boolean => spawnSync(program, args).status === 0
/** In two parts, because no test of ours may be skipped. */
const SKIPPED = `it${'.skip'}('later', () => {})`
let opened = 0

/** The tool in a workspace. */
function runnerIn(workspace: string, path: readonly string[] = PATH) {
  // Programs in the workspace do not run by name.
  const sandbox = createSandbox({
    workspace, operator: { path: path.filter((folder) => !folder.startsWith(workspace)), env },
  })
  const session = sandbox.open(toolRequest('test_runner', { workspace: [workspace] }))
  const call = async (args: JsonObject): Promise<JsonObject> =>
    (await (
      await session
    ).call({ callId: `c${++opened}`, tool: 'test_runner', args, signal: new AbortController().signal })) as JsonObject
  return {
    call,
    refusal: (args: JsonObject) =>
      call(args).then(
        (value) => {
          throw new Error(`not refused: ${JSON.stringify(value)}`)
        },
        (error: unknown) => error as BulkheadError,
      ),
    close: () => sandbox.close(),
  }
}

const root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-tests-')))
const put = (path: string, content: string, folder = root): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), content)
}
let tool: ReturnType<typeof runnerIn>
beforeAll(() => {
  tool = runnerIn(root)
})
afterAll(async () => {
  await tool.close()
  rmSync(root, { recursive: true })
})

describe('node:test', () => {
  beforeAll(() => {
    put('js/package.json', '{"type":"module","scripts":{"test":"node --test"}}')
    put('js/a.test.js', `import test, { describe, it } from 'node:test'
import assert from 'node:assert/strict'
describe('sums', () => {
  it('adds', () => assert.equal(1 + 1, 2))
  it('fails <&', () => {
    assert.equal(1, 2)
  })
  ${SKIPPED}
})
test('throws', () => { throw new Error('boom') })
`)
    put('js/sub/b.test.js', "import test from 'node:test'\ntest('fine', () => {})\n")
  })

  // Node 20 escapes quotes twice, and reports no file for one that cannot be loaded.
  it('returns counts, and failures with file and line', async () => {
    expect(await tool.call({ path: 'js/a.test.js' })).toEqual({
      runner: 'node', path: 'js', passed: 1, failed: 2, errors: 0, skipped: 1, total: 4,
      duration_ms: expect.any(Number) as number, exit_code: 1,
      output: expect.stringContaining('failing tests') as string,
      failures: [
        {
          name: 'sums > fails <&', file: 'js/a.test.js', line: 6, message: expect.stringContaining('1 !== 2') as string,
        },
        { name: 'throws', file: 'js/a.test.js', line: 10, message: 'boom' },
      ],
    })
  })

  it('takes a folder and a filter', async () => {
    expect(await tool.call({ path: 'js/sub' })).toMatchObject({
      path: 'js/sub', passed: 1, failed: 0, total: 1, exit_code: 0, failures: [],
    })
    expect(await tool.call({ path: 'js/a.test.js', filter: 'adds' })).toMatchObject({ passed: 1, failed: 0 })
  })

  it('shows the output of a file that cannot be loaded', async () => {
    put('broken/package.json', '{"scripts":{"test":"node --test"}}')
    put('broken/b.test.mjs', "import './missing.mjs'\n")
    expect(await tool.call({ path: 'broken' })).toMatchObject({
      failed: 1, failures: [{ name: 'b.test.mjs' }], output: expect.stringContaining('missing.mjs') as string,
    })
  })

  it('ends overdue tests', async () => {
    put('slow/package.json', '{"scripts":{"test":"node --test"}}')
    put(
      'slow/s.test.mjs',
      "import test from 'node:test'\ntest('slow', () => new Promise(() => setInterval(() => {}, 1000)))\n",
    )
    expect(await tool.refusal({ path: 'slow', timeout_ms: 300 })).toMatchObject({
      code: 'ToolExecutionFailed', message: expect.stringContaining('timeout_ms') as string,
    })
  })
})

it('runs vitest', ONLY_IN_SOAK, async () => {
  const repository = realpathSync(join(import.meta.dirname, '../../../../..'))
  const reports = join(import.meta.dirname, '../../../reports')
  mkdirSync(reports, { recursive: true })
  const folder = realpathSync(mkdtempSync(join(reports, 'vitest-')))
  const here = runnerIn(repository)
  try {
    put('package.json', '{"type":"module","devDependencies":{"vitest":"*"}}', folder)
    put('a.test.ts', `import { expect, it } from 'vitest'
it('adds', () => expect(1 + 1).toBe(2))
it('fails', () => {
  console.log('noise')
  expect({ a: 1 }).toEqual({ a: 2 })
})
${SKIPPED}
`, folder)
    put('b.test.ts', "import './missing.ts'\n", folder)
    const path = relative(repository, folder)
    expect(await here.call({ path })).toMatchObject({
      runner: 'vitest', path, passed: 1, failed: 1, errors: 1, skipped: 1, total: 4, exit_code: 1,
      failures: [
        {
          name: 'fails', file: `${path}/a.test.ts`, line: 5,
          message: expect.stringContaining('to deeply equal') as string,
        },
        { name: 'b.test.ts', file: `${path}/b.test.ts`, message: expect.stringContaining('missing.ts') as string },
      ],
    })
  } finally {
    await here.close()
    rmSync(folder, { recursive: true })
  }
})

it('runs pytest', runsIf(has('/usr/bin/python3', '-m', 'pytest', '--version'), 'needs pytest'), async () => {
  // Commands see the programs of the system, and not those that a version manager keeps in a home.
  const system = runnerIn(root, ['/usr/bin', '/bin'])
  put('py/test_a.py', `import pytest
def test_ok(): pass
def test_bad():
    x = 1
    print("CAPTURED")
    assert x == 2, "nope <&>"
@pytest.mark.skip(reason="later")
def test_skip(): pass
@pytest.fixture
def fixed(): raise RuntimeError("fixture")
def test_fixed(fixed): pass
class TestK:
    def test_m(self): raise ValueError("v")
`)
  put('py/test_b.py', 'import nothing_here\n')
  expect(await system.call({ path: 'py' })).toMatchObject({
    runner: 'pytest', passed: 1, failed: 2, errors: 2, skipped: 1, total: 6,
    failures: [
      {
        name: 'test_b', file: 'py/test_b.py', line: 1, message: "ModuleNotFoundError: No module named 'nothing_here'",
        error: true,
      },
      {
        name: 'test_a.test_bad', file: 'py/test_a.py', line: 6, message: expect.stringContaining('nope <&>') as string,
        output: expect.stringContaining('CAPTURED') as string,
      },
      { name: 'test_a.test_fixed', message: expect.stringContaining('fixture') as string, error: true },
      { name: 'test_a.TestK.test_m', file: 'py/test_a.py', line: 13, message: 'ValueError: v' },
    ],
  })
  await system.close()
})

it('runs cargo', { ...runsIf(has('cargo', '--version'), 'needs cargo'), ...ONLY_IN_SOAK }, async () => {
  put('rs/Cargo.toml', '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n')
  put('rs/src/lib.rs', '#[test]\nfn ok() {}\n#[test]\nfn bad() {\n    assert_eq!(1, 2);\n}\n')
  expect(await tool.call({ path: 'rs' })).toMatchObject({
    runner: 'cargo', passed: 1, failed: 1, failures: [{ name: 'bad', file: 'rs/src/lib.rs', line: 5 }],
  })
})

it('runs go', { ...runsIf(has('go', 'version'), 'needs go'), ...ONLY_IN_SOAK }, async () => {
  put('go/go.mod', 'module example.org/demo\n\ngo 1.19\n')
  put('go/sub/a_test.go', 'package sub\n\nimport "testing"\n\nfunc TestOk(t *testing.T) {}\n'
    + 'func TestBad(t *testing.T) {\n\tt.Error("got")\n}\n')
  expect(await tool.call({ path: 'go' })).toMatchObject({
    runner: 'go', passed: 1, failed: 1, failures: [{ name: 'TestBad', file: 'go/sub/a_test.go', line: 7 }],
  })
})

describe('errors name the cure', () => {
  it('an error says that the runner is not installed', LONG, async () => {
    put('none/package.json', '{"devDependencies":{"vitest":"*"}}')
    expect(await tool.refusal({ path: 'none' })).toMatchObject({
      code: 'NotFound', message: expect.stringContaining('npm install --save-dev vitest') as string,
    })
    const bare = runnerIn(root, ['/usr/bin', '/bin'].filter((folder) => !has(join(folder, 'cargo'))))
    put('rust/Cargo.toml', '')
    expect(await bare.refusal({ path: 'rust' })).toMatchObject({
      code: 'NotFound', message: expect.stringContaining('Install Rust') as string,
    })
    await bare.close()
  })

  it('an error says that a project is not recognized, or has several runners', async () => {
    put('odd/readme.txt', '')
    expect(await tool.refusal({ path: 'odd' })).toMatchObject({
      code: 'NotFound', message: expect.stringContaining('Pass "runner"') as string,
    })
    put('two/Cargo.toml', '')
    put('two/go.mod', '')
    expect(await tool.refusal({ path: 'two' })).toMatchObject({
      code: 'InputInvalid', message: expect.stringContaining('go and cargo') as string,
    })
    expect(await tool.refusal({ path: 'odd', runner: 'go' })).toMatchObject({
      code: 'NotFound', message: expect.stringContaining('There is no go.mod') as string,
    })
    expect(await tool.refusal({ path: 'nowhere' })).toMatchObject({ code: 'NotFound' })
    expect(await tool.refusal({ path: '../..' })).toMatchObject({ code: 'CapabilityDenied' })
    expect(await tool.refusal({ path: 'odd', filter: '--watch' })).toMatchObject({ code: 'InputInvalid' })
  })

  it('an error says that a folder has no tests', async () => {
    put('empty/package.json', '{"scripts":{"test":"node --test"}}')
    expect(await tool.refusal({ path: 'empty' })).toMatchObject({
      code: 'NotFound', message: 'node found no tests in "empty". Check "path" and "filter".',
    })
  })
})

it('has the runner and the folder as approval key', () => {
  const read = (args: JsonObject) => readArguments(args, { workspace: '/w' })
  expect([read({}).key, read({ runner: 'go', path: '/w/a/b' }).key]).toEqual(['tests in .', 'go in a/b'])
  expect(read({ path: '../x' }).denies).toEqual(['the path ../x is outside the workspace'])
  expect(read({}).onlyReads).toBeUndefined()
})
