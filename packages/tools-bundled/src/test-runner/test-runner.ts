import { gunzip } from 'node:zlib'
import { promisify } from 'node:util'
import {
  type ArgumentsReader, defineTool, type FromJsonSchema, type ManifestInput, type PipeResult, type Runtime,
  ToolError,
} from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { insidePath, pathKey, refuseHome, simpleReading, stringOr } from '../model/paths.ts'
import { findProject, type Project, RUNNERS } from './project.ts'
import type { RunnerOutput, TestFailure, TestReport } from './readers/report.ts'
import { RUNNER_USES, type RunnerUse } from './runners.ts'

const MAX_TIMEOUT_MS = 600_000
const TIMEOUT_MS = 120_000
/** Time to kill overdue tests. */
const CLEANUP_MS = 10_000

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    runner: { enum: RUNNERS, description: 'The test runner. Default: recognized from the files of the project.' },
    path: {
      type: 'string', minLength: 1,
      description: 'A test file, or a folder with tests, inside the workspace. Default: the workspace.',
    },
    filter: {
      type: 'string', minLength: 1, maxLength: 1000,
      description: 'Run only tests whose name matches, as the runner understands it: a regular expression for vitest, '
        + 'jest, node and go, an expression for pytest, a part of the name for cargo.',
    },
    timeout_ms: {
      type: 'integer', minimum: 1, maximum: MAX_TIMEOUT_MS,
      description: 'Timeout in milliseconds. Default: 120000.',
    },
  },
  required: [],
  additionalProperties: false,
} as const

const REQUIRES = {
  fs: { read: ['{workspace}'], write: ['{workspace}'] },
  net: { hosts: ['*'] },
  shell: [{ cmd: '*', args: [{ rest: true }] }],
} as const satisfies NonNullable<ManifestInput['tools'][number]['requires']>

type TestArgs = FromJsonSchema<typeof INPUT_SCHEMA>
type TestRuntime = Runtime<typeof REQUIRES>

export const tool = defineTool({
  label: 'Run tests',
  description: 'Runs the tests of a project with vitest, jest, node:test, pytest, go test or cargo test. Returns how '
    + 'many passed, failed, could not run (errors) and were skipped, and each failure with its name, file, line, message '
    + 'and output. Of long output you get the end; all of stderr is written to a file. The tests may write to the '
    + 'workspace only. The timeout is at most 600 s.',
  input: INPUT_SCHEMA,
  requires: REQUIRES,
  gated: true,
  mode: 'local',
  kind: 'execute',
  timeoutMs: MAX_TIMEOUT_MS + CLEANUP_MS,
  maxOutput: '200KB',
  execute: runTests,
  deriveApprovalKey: ({ runner, path }) => testKey(runner, path),
})

const testKey = (runner = 'tests', path = '.'): string => `${runner} in ${pathKey(path)}`

/** The key is the runner and the folder: the tests of a project run its code. */
export const readArguments: ArgumentsReader = ({ runner, path }, { workspace, roots = [] }) => {
  const written = stringOr(path, '.')
  const inside = insidePath(written, { workspace, folder: '.', roots })
  const key = testKey(typeof runner === 'string' ? runner : undefined, inside ?? written)
  const denies = inside === undefined ? [`the path ${written} is outside the workspace`] : []
  const touch = `run code of the project: the tests in ${pathKey(inside ?? written)}`
  return { ...simpleReading(key, [], touch, denies), startsBehind: WALL }
}

async function runTests(args: TestArgs, runtime: TestRuntime): Promise<JsonObject> {
  const { runner, path = '.', filter, timeout_ms: timeoutMs = TIMEOUT_MS } = args
  refuseHome(path)
  if (filter?.startsWith('-') === true) {
    throw new ToolError('InputInvalid', `"${filter}" is an option, and no filter. Pass a part of the name of a test.`)
  }
  const project = await findProject(runtime.fs, path, runner)
  const use = await RUNNER_USES[project.runner](project, filter, runtime.fs)
  const run = new TestRun(runtime, project, use)
  const result = await run.start(performance.now() + timeoutMs)
  return run.resultOf(result)
}

/** Around the tests, and around what finds their folder. */
const WALL = 'work'
const NOT_FOUND = 127
/** Set if the host itself runs in a test of node. With it, node runs no tests. */
const OUTER_TESTS = 'NODE_TEST_CONTEXT'
const UNPACKED_BYTES = 64 * 1024 * 1024
const SHOWN_FAILURES = 50
const MESSAGE_CHARS = 2_000
const OUTPUT_CHARS = 4_000

interface Finished extends RunnerOutput {
  readonly exitCode: number | null
  readonly durationMs: number
}

class TestRun {
  readonly #runtime: TestRuntime
  readonly #project: Project
  readonly #use: RunnerUse

  constructor(runtime: TestRuntime, project: Project, use: RunnerUse) {
    this.#runtime = runtime
    this.#project = project
    this.#use = use
  }

  /** `until` is compared with `performance.now()`. */
  async start(until: number): Promise<Finished> {
    const began = performance.now()
    const { argv, otherwise } = this.#use
    const first = await this.#pipe(argv, until)
    const isBlocked = first.exits[0]?.exitCode !== 0 && otherwise?.if.test(first.stderr) === true
    const result = isBlocked ? await this.#pipe(otherwise.argv, until) : first
    this.#check(result)
    return {
      stdout: await unpacked(result), stderr: result.stderr, exitCode: result.exits[0]?.exitCode ?? null,
      durationMs: Math.round(performance.now() - began),
    }
  }

  /** Packed, because the output of a command is limited, and a report shrinks to a twentieth. */
  #pipe(argv: readonly string[], until: number): Promise<PipeResult> {
    const timeoutMs = Math.max(1, Math.ceil(until - performance.now()))
    return this.#runtime.shell.pipe(
      [{ cmd: 'env', args: ['-u', OUTER_TESTS, '--', ...argv] }, { cmd: 'gzip', args: ['-c'] }, { cmd: 'base64' }],
      { cwd: this.#project.root, wall: WALL, quiet: true, save: 'stderr', timeoutMs },
    )
  }

  #check({ timedOut, exits }: PipeResult): void {
    const { runner } = this.#project
    if (timedOut) {
      const cure = 'Pass a narrower "path", a "filter", or a longer "timeout_ms".'
      throw new ToolError('ToolExecutionFailed', `The tests did not end in time. ${cure}`)
    }
    if (exits[0]?.exitCode === NOT_FOUND) {
      throw new ToolError('NotFound', `${runner} was not found. ${this.#use.install}`, { runner })
    }
  }

  async resultOf(finished: Finished): Promise<JsonObject> {
    const { runner, root } = this.#project
    const report = await this.#use.read(finished)
    const { exitCode, stdout, stderr, durationMs } = finished
    const tail = lastChars(stderr.trim() === '' ? stdout : stderr)
    if (report === undefined) {
      const text = `${runner} ended with exit code ${exitCode} and without a report: ${tail}`
      throw new ToolError('ToolExecutionFailed', text, { exit_code: exitCode })
    }
    const total = report.passed + report.failed + report.errors + report.skipped
    if (total === 0) {
      throw new ToolError('NotFound', `${runner} found no tests in "${root}". Check "path" and "filter".`)
    }
    const failures = await this.#failures(report)
    const isExplained = exitCode === 0 || (failures.length > 0 && failures.every(({ line }) => line !== undefined))
    return {
      runner, path: root, passed: report.passed, failed: report.failed, errors: report.errors, skipped: report.skipped, total,
      duration_ms: durationMs, exit_code: exitCode, failures,
      ...(report.failures.length > failures.length && { failures_omitted: report.failures.length - failures.length }),
      ...(!isExplained ? { output: tail } : outputOf(failures, stderr)),
      ...(stderr.length > OUTPUT_CHARS && { truncated: true }),
    }
  }

  async #failures({ failures }: TestReport): Promise<readonly JsonObject[]> {
    if (failures.length === 0) return []
    const options = { cwd: this.#project.root, wall: WALL, quiet: true } as const
    const { stdout } = await this.#runtime.shell.pipe([{ cmd: 'pwd', args: ['-P'] }], options)
    const folder = stdout.replace(/\n$/, '')
    return failures.slice(0, SHOWN_FAILURES).map(({ name, file, line, message, isError, output }: TestFailure) => ({
      name: shown(name, folder), ...(file !== undefined && { file: this.#workspacePath(file, folder) }),
      ...(line !== undefined && { line }), message: shown(message, folder), ...(isError && { error: true }),
      ...(output !== undefined && { output: lastChars(output) }),
    }))
  }

  /** Runners write absolute paths, or paths relative to where they start. */
  #workspacePath(file: string, folder: string): string {
    const inside = file.startsWith(`${folder}/`) ? file.slice(folder.length + 1) : file
    const { root } = this.#project
    return inside.startsWith('/') || root === '.' ? inside : `${root}/${inside}`
  }
}

const shown = (text: string, folder: string): string => {
  const near = text.replaceAll(`${folder}/`, '')
  return near.length > MESSAGE_CHARS ? `${near.slice(0, MESSAGE_CHARS)}…` : near
}

/** What failed tests printed, if the report does not have it. */
const outputOf = (failures: readonly JsonObject[], stderr: string): JsonObject =>
  failures.length > 0 && stderr.trim() !== '' && !failures.some((each) => 'output' in each)
    ? { output: lastChars(stderr) } : {}

const lastChars = (text: string): string => text.trim().slice(-OUTPUT_CHARS)

const unpack = promisify(gunzip)

/** A report that was cut cannot be unpacked. */
async function unpacked({ stdout, stderr }: PipeResult): Promise<string> {
  if (stdout === '') {
    throw new ToolError('ToolExecutionFailed', `The tests could not be started: ${lastChars(stderr) || 'no reason is known'}`)
  }
  const bytes = await unpack(Buffer.from(stdout, 'base64'), { maxOutputLength: UNPACKED_BYTES }).catch(() => undefined)
  if (bytes !== undefined) return bytes.toString('utf8')
  throw new ToolError('ToolExecutionFailed', 'The report of the tests is too long. Pass a narrower "path".')
}

export { loadReports as loadLate } from './runners.ts'
