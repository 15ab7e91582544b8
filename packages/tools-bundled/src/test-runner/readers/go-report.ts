import { isJsonObject, type JsonObject, parseJson } from '@bulkhead/kit/json'
import { countFailures, type RunnerOutput, type TestFailure, type TestReport } from './report.ts'

interface GoTest {
  readonly name: string
  readonly module: string
  state: string
  output: string
}

/** Reads `go test -json`. Files are relative to the folder of `module`, the path of the module. */
export function readGoReport({ stdout, stderr }: RunnerOutput, module: string): TestReport | undefined {
  const tests = new Map<string, GoTest>()
  const packages = new Map<string, GoTest>()
  let compiler = stderr
  for (const line of stdout.split('\n')) {
    const event = eventOf(line)
    if (event === undefined) {
      const broken = /^FAIL\t(\S+) \[(?:build|setup) failed\]/.exec(line)?.[1]
      if (broken !== undefined) packages.set(broken, { name: broken, module: broken, state: 'fail', output: '' })
    } else if (event['Action'] === 'build-output') compiler += textOf(event['Output'])
    else record(event, tests, packages)
  }
  if (tests.size === 0 && packages.size === 0) return undefined
  // A test with subtests reports what its subtests did.
  const parents = new Set([...tests.keys()].flatMap(parentsOf))
  const leaves = [...tests].filter(([key]) => !parents.has(key)).map(([, test]) => test)
  const failed = leaves.filter(({ state }) => state === 'fail')
  const explained = new Set(failed.map(({ module: name }) => name))
  const broken = [...packages.values()].filter(({ state, name }) => state === 'fail' && !explained.has(name))
  const failures = [
    ...failed.map((test) => testFailure(test, module)), ...broken.map((found) => packageFailure(found, compiler)),
  ]
  const count = (state: string): number => leaves.filter((test) => test.state === state).length
  return { passed: count('pass'), skipped: count('skip'), ...countFailures(failures) }
}

/** `package Test/a/b` has the parents `package Test/a` and `package Test`. */
function parentsOf(key: string): readonly string[] {
  const names = key.slice(key.indexOf(' ') + 1).split('/')
  const start = key.slice(0, key.indexOf(' ') + 1)
  return names.slice(1).map((_, index) => `${start}${names.slice(0, index + 1).join('/')}`)
}

function eventOf(line: string): JsonObject | undefined {
  const parsed = line.startsWith('{') ? parseJson(line) : { ok: false as const }
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined
}

const textOf = (value: unknown): string => typeof value === 'string' ? value : ''

function record(event: JsonObject, tests: Map<string, GoTest>, packages: Map<string, GoTest>): void {
  const [module, name, action] = [textOf(event['Package']), textOf(event['Test']), textOf(event['Action'])]
  if (module === '') return
  const [all, key] = name === '' ? [packages, module] : [tests, `${module} ${name}`]
  const test = all.get(key) ?? { name: name || module, module, state: 'run', output: '' }
  all.set(key, test)
  if (action === 'output') test.output += textOf(event['Output'])
  else if (action === 'pass' || action === 'fail' || action === 'skip') test.state = action
}

function testFailure({ name, module: path, output }: GoTest, module: string): TestFailure {
  const lines = output.split('\n').filter((line) => !/^\s*(?:===|---) /.test(line))
  const message = lines.map((line) => line.trimEnd()).join('\n').trim()
  // What a test logs last is why it failed. A panic names the file in its trace instead.
  const logged = [...message.matchAll(/^[ \t]*([\w.-]+\.go):(\d+): /gm)].at(-1)
  const traced = /^[ \t]*(\/\S+_test\.go):(\d+)/m.exec(message)
  const [, file, line] = logged ?? traced ?? []
  const folder = path === module ? '' : path.startsWith(`${module}/`) ? `${path.slice(module.length + 1)}/` : ''
  return {
    name, file: file === undefined || file.startsWith('/') ? file : `${folder}${file}`,
    line: line === undefined ? undefined : Number(line), message,
  }
}

/** A package that does not compile, or ends without a failed test. */
function packageFailure({ name, output }: GoTest, compiler: string): TestFailure {
  const section = compiler.split(/^# /m).find((text) => text.startsWith(`${name} `) || text.startsWith(`${name}\n`))
  const message = (section?.replace(/^.*\n/, '') ?? output).trim()
  const [, file, line] = /^(\S+\.go):(\d+):/m.exec(message) ?? []
  return {
    name, file, line: line === undefined ? undefined : Number(line), message: message || 'The package failed.', isError: true,
  }
}
