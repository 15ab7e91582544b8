import { isJsonObject, type Json, type JsonObject, parseJson } from '@bulkhead/kit/json'
import { countFailures, lineIn, type RunnerOutput, type TestFailure, type TestReport, withoutColors } from './report.ts'

const START = '{"num'
const LIMITS = { maxDepth: 64, maxNodes: 5_000_000, maxChars: 64 * 1024 * 1024 }

/** Reads the JSON that vitest and jest write. undefined if there is none. */
export function readJsonReport({ stdout }: RunnerOutput): TestReport | undefined {
  // Other text may surround it.
  const parsed = parseJson(stdout.slice(Math.max(0, stdout.indexOf(START)), stdout.lastIndexOf('}') + 1), LIMITS)
  if (!parsed.ok || !isJsonObject(parsed.value) || !Array.isArray(parsed.value['testResults'])) return undefined
  const files = parsed.value['testResults'].filter(isJsonObject)
  const tests = files.flatMap(testsOf)
  const count = (...states: readonly string[]): number =>
    tests.filter(({ status }) => states.includes(String(status))).length
  const failures = files.flatMap(failuresOf)
  const skipped = count('skipped', 'pending', 'todo', 'disabled')
  return { passed: count('passed'), skipped, ...countFailures(failures) }
}

const testsOf = ({ assertionResults }: JsonObject): readonly JsonObject[] =>
  Array.isArray(assertionResults) ? assertionResults.filter(isJsonObject) : []

/** A file that fails without a failed test could not be loaded. */
function failuresOf(file: JsonObject): readonly TestFailure[] {
  const path = stringOf(file['name'])
  const failed = testsOf(file).filter(({ status }) => status === 'failed')
  if (failed.length === 0 && file['status'] === 'failed') {
    const message = withoutColors(stringOf(file['message']))
    return [{ name: path, file: path, line: lineIn(message, path), message: withoutStack(message), isError: true }]
  }
  return failed.map((test) => {
    const { failureMessages } = test
    const message = withoutColors(Array.isArray(failureMessages) ? failureMessages.map(stringOf).join('\n') : '')
    const { location } = test
    const known = isJsonObject(location) && typeof location['line'] === 'number' ? location['line'] : undefined
    const name = stringOf(test['fullName']).trim()
    return { name, file: path, line: lineIn(message, path) ?? known, message: withoutStack(message) }
  })
}

const withoutStack = (message: string): string => message.replace(/\n[ \t]+at .*$/s, '').trim()

const stringOf = (value: Json | undefined): string => typeof value === 'string' ? value : ''
