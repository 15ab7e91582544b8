import { type FileReader, ToolError } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import { isJsonObject, type JsonObject, parseJson } from '@bulkhead/kit/json'
import { insidePath } from '../model/paths.ts'

export const RUNNERS = ['vitest', 'node', 'jest', 'pytest', 'go', 'cargo'] as const
export type TestRunner = (typeof RUNNERS)[number]

/** What to test, and with what. Paths are relative to the workspace. */
export interface Project {
  readonly runner: TestRunner
  /** Where the runner starts. */
  readonly root: string
  /** A file or folder to restrict the run to, relative to the root. */
  readonly target: string | undefined
  readonly isFile: boolean
}

const PYTHON = ['pytest.ini', 'pyproject.toml', 'setup.cfg', 'setup.py', 'tox.ini', 'conftest.py', 'requirements.txt']
/** Files that mark the root of a project, for each runner. */
const MARKERS: Readonly<Record<TestRunner, readonly string[]>> = {
  vitest: ['package.json'], node: ['package.json'], jest: ['package.json'], pytest: PYTHON, go: ['go.mod'],
  cargo: ['Cargo.toml'],
}
const EXTENSIONS: readonly (readonly [RegExp, readonly TestRunner[]])[] = [
  [/\.py$/, ['pytest']], [/\.go$/, ['go']], [/\.rs$/, ['cargo']], [/\.[cm]?[jt]sx?$/, ['vitest', 'jest', 'node']],
]

/**
 * Finds the project of a path: the nearest folder at or above it with the files of a runner. Rejects with NotFound if
 * there is none, and with InputInvalid if several runners are possible.
 */
export async function findProject(
  fs: FileReader, path: string, runner: TestRunner | undefined,
): Promise<Project> {
  const isFile = (await fs.stat(path)).kind === 'file'
  const whole = insidePath(path, { workspace: '/', folder: '.' }) ?? '.'
  const given = path.startsWith('/') ? path : whole
  const folder = isFile ? parentOf(given) : given
  const suited = isFile ? EXTENSIONS.find(([form]) => form.test(path))?.[1] ?? RUNNERS : RUNNERS
  let fallback: string | undefined
  for (const root of foldersFrom(folder)) {
    const names = await namesIn(fs, root)
    const found = runner === undefined ? await runnersOf(fs, root, names) : hasMarker(names, runner) ? [runner] : []
    const possible = found.filter((one) => suited.includes(one))
    if (possible.length > 1) {
      const list = possible.join(' and ')
      throw new ToolError('InputInvalid', `The tests in "${root}" can run with ${list}. Pass one of them as "runner".`)
    }
    if (possible[0] !== undefined) return projectAt(possible[0], root, given, isFile)
    if (names.has('package.json')) fallback ??= root
  }
  const only = runner ?? (suited.length === 1 ? suited[0] : undefined)
  if (only === 'go' || only === 'cargo') {
    const [marker] = MARKERS[only]
    const message = `There is no ${marker} at "${path}" or above it, and ${only} needs one. Pass the folder of a project.`
    throw new ToolError('NotFound', message)
  }
  if (only !== undefined) return projectAt(only, folder, given, isFile)
  // A package without another runner has Node's own.
  if (fallback !== undefined && suited.includes('node')) return projectAt('node', fallback, given, isFile)
  throw new ToolError(
    'NotFound', `No test runner was recognized at "${path}" or above it. Pass "runner": ${RUNNERS.join(', ')}.`,
  )
}

function projectAt(runner: TestRunner, root: string, given: string, isFile: boolean): Project {
  // node takes files only. A folder is tested by starting there.
  if (runner === 'node' && !isFile) return { runner, root: given, target: undefined, isFile }
  const target = given === root ? undefined : root === '.' ? given : given.slice(root.length + 1)
  return { runner, root, target, isFile }
}

const parentOf = (path: string): string => path.includes('/') ? path.slice(0, path.lastIndexOf('/')) || '/' : '.'

/** The folder and all above it, up to the workspace. */
function foldersFrom(folder: string): readonly string[] {
  const folders = [folder]
  for (let at = folder; at !== '.' && at.includes('/') && at !== '/'; at = parentOf(at)) folders.push(parentOf(at))
  return folder === '.' || folder.startsWith('/') ? folders : [...folders, '.']
}

const hasMarker = (names: ReadonlySet<string>, runner: TestRunner): boolean =>
  MARKERS[runner].some((name) => names.has(name))

/** Absolute paths lead above the workspace, where nothing is readable. */
async function namesIn(fs: FileReader, folder: string): Promise<ReadonlySet<string>> {
  return new Set((await fs.list(folder).catch(() => [])).map(({ name }) => name))
}

const isPython = (names: ReadonlySet<string>): boolean =>
  hasMarker(names, 'pytest') || [...names].some((name) => /^test_.*\.py$|_test\.py$/.test(name))

async function runnersOf(fs: FileReader, root: string, names: ReadonlySet<string>): Promise<readonly TestRunner[]> {
  return [
    ...(names.has('package.json') ? scriptRunners(await readPackage(fs, `${root}/package.json`), names) : []),
    ...(['go', 'cargo'] as const).filter((runner) => hasMarker(names, runner)),
    ...(isPython(names) ? ['pytest' as const] : []),
  ]
}

async function readPackage(fs: FileReader, path: string): Promise<JsonObject> {
  const parsed = parseJson(await fs.readText(path).catch(() => ''))
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
}

function scriptRunners(manifest: JsonObject, names: ReadonlySet<string>): readonly TestRunner[] {
  const { dependencies, devDependencies, scripts } = manifest
  const has = (name: string): boolean =>
    [dependencies, devDependencies].some((list) => isJsonObject(list) && Object.hasOwn(list, name))
  const configured = (name: string): boolean => [...names].some((file) => file.startsWith(`${name}.config.`))
  const test = isJsonObject(scripts) ? String(scripts['test'] ?? '') : ''
  const named = (['vitest', 'jest'] as const).filter((name) => test.includes(name))
  if (named.length === 1) return named
  if (/\bnode\b/.test(test) && test.includes('--test')) return ['node']
  return (['vitest', 'jest'] as const).filter((name) => has(name) || configured(name))
}

/** The program of a package that is installed at the root or above it, as a path from the root. */
export async function installedProgram(fs: FileReader, root: string, name: string): Promise<string> {
  const folders = foldersFrom(root)
  for (const [up, folder] of folders.entries()) {
    const program = `node_modules/.bin/${name}`
    // A link out of the workspace exists too. Package managers make such links.
    const isMissing = (error: unknown): boolean => errorCode(error) === 'NotFound'
    const missing = await fs.stat(`${folder}/${program}`).then(() => false, isMissing)
    if (!missing) return `${up === 0 ? './' : '../'.repeat(up)}${program}`
  }
  throw new ToolError(
    'NotFound', `${name} is not installed in "${root}". Install it with "npm install --save-dev ${name}".`,
  )
}
