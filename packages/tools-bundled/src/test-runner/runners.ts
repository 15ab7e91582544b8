import { type FileReader, ToolError } from '@bulkhead/contract'
import type { Project, TestRunner } from './project.ts'
import { installedProgram } from './project.ts'
import type { RunnerOutput, TestReport } from './readers/report.ts'

/** How a runner is started, and how its output is read. */
export interface RunnerUse {
  /** Environment variables, then the program with its arguments. */
  readonly argv: readonly string[]
  /** What to start instead if the error output matches. */
  readonly otherwise?: { readonly if: RegExp; readonly argv: readonly string[] }
  read(output: RunnerOutput): Promise<TestReport | undefined>
  /** What to do if the program is missing. */
  readonly install: string
}

type UseRunner = (project: Project, filter: string | undefined, fs: FileReader) => Promise<RunnerUse>

const given = <Value>(value: Value | undefined, ...args: readonly string[]): readonly string[] =>
  value === undefined ? [] : args

/** Loaded on first use, to keep the host's startup fast. */
const loadJunit = () => import('./readers/junit-report.ts')
const loadJson = () => import('./readers/json-report.ts')
const loadGo = () => import('./readers/go-report.ts')
const loadCargo = () => import('./readers/cargo-report.ts')

export const loadReports = (): Promise<unknown> =>
  Promise.allSettled([loadJunit(), loadJson(), loadGo(), loadCargo()])

const CALM = ['CI=1', 'NO_COLOR=1']

/** Reports go to standard output, because nothing else outlives the sandbox of a command. */
export const RUNNER_USES: Readonly<Record<TestRunner, UseRunner>> = {
  vitest: async ({ root, target }, filter, fs) => ({
    argv: [
      ...CALM, await installedProgram(fs, root, 'vitest'), 'run', '--reporter=json', '--outputFile=/dev/stdout',
      ...given(filter, `--testNamePattern=${filter}`), ...given(target, `./${target}`),
    ],
    read: async (output) => (await loadJson()).readJsonReport(output),
    install: 'Install it with "npm install --save-dev vitest".',
  }),
  jest: async ({ root, target, isFile }, filter, fs) => ({
    argv: [
      ...CALM, await installedProgram(fs, root, 'jest'), '--json', '--ci', '--testLocationInResults',
      ...given(filter, `--testNamePattern=${filter}`),
      ...given(target, ...(isFile ? ['--runTestsByPath'] : []), `./${target}`),
    ],
    read: async (output) => (await loadJson()).readJsonReport(output),
    install: 'Install it with "npm install --save-dev jest".',
  }),
  node: async ({ target }, filter) => ({
    argv: [
      ...CALM, 'node', '--test', '--test-reporter=junit', '--test-reporter-destination=stdout', '--test-reporter=spec',
      '--test-reporter-destination=stderr', ...given(filter, `--test-name-pattern=${filter}`),
      ...given(target, `./${target}`),
    ],
    read: async (output) => (await loadJunit()).readNodeReport(output),
    install: 'Install Node, or add its folder to PATH of the host.',
  }),
  pytest: async ({ root, target }, filter, fs) => {
    const isOwn = await fs.stat(`${root}/.venv/pyvenv.cfg`).then(() => true, () => false)
    const env = [...CALM, 'PYTHONDONTWRITEBYTECODE=1']
    const args = [
      '--quiet', '--no-header', '--color=no', '--tb=short', '--continue-on-collection-errors', '-p', 'no:cacheprovider',
      '-o', 'junit_family=xunit1', '-o', 'junit_logging=all', '--junitxml=/dev/stdout', ...given(filter, '-k', `${filter}`),
      ...given(target, `./${target}`),
    ]
    return {
      argv: [...env, isOwn ? './.venv/bin/python' : 'python3', '-m', 'pytest', ...args],
      // It may be installed for another Python.
      otherwise: { if: /No module named pytest/, argv: [...env, 'pytest', ...args] },
      read: async (output) => (await loadJunit()).readPytestReport(output),
      install: 'Install it with "python3 -m pip install pytest".',
    }
  },
  go: async ({ root, target, isFile }, filter, fs) => {
    const argv = [...CALM, 'go', 'test', '-json', ...given(filter, `-run=${filter}`), goPackages(target, isFile)]
    return {
      argv,
      // Compiled packages are kept in the home folder, which tests cannot write.
      otherwise: {
        if: /failed to initialize build cache/, argv: [`GOCACHE=/tmp/${crypto.randomUUID()}`, ...argv],
      },
      read: async (output) => {
        const text = await fs.readText(`${root}/go.mod`).catch(() => '')
        return (await loadGo()).readGoReport(output, /^module\s+"?([^\s"]+)/m.exec(text)?.[1] ?? '')
      },
      install: 'Install Go, or add its folder to PATH of the host.',
    }
  },
  cargo: async ({ target }, filter) => ({
    argv: [
      ...CALM, 'RUST_BACKTRACE=0', 'cargo', 'test', '--no-fail-fast', '--color=never', ...cargoTarget(target),
      ...given(filter, `${filter}`),
    ],
    read: async (output) => (await loadCargo()).readCargoReport(output),
    install: 'Install Rust, or add the folder of cargo to PATH of the host.',
  }),
}

/** All packages of a folder, or the package of a file. */
function goPackages(target: string | undefined, isFile: boolean): string {
  if (target === undefined) return './...'
  if (!isFile) return `./${target}/...`
  return target.includes('/') ? `./${target.slice(0, target.lastIndexOf('/'))}` : '.'
}

function cargoTarget(target: string | undefined): readonly string[] {
  if (target === undefined) return []
  const [, name] = /^tests\/([^/]+)\.rs$/.exec(target) ?? []
  if (name !== undefined) return ['--test', name]
  throw new ToolError(
    'InputInvalid', `cargo cannot run the tests of "${target}" alone. Pass a file in tests, or pass "filter".`,
  )
}
