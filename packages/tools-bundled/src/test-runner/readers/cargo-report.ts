import type { RunnerOutput, TestFailure, TestReport } from './report.ts'

const SUMMARY = /^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;/gm
const SECTION = /^---- (.+) stdout ----$/m

/** Reads the text of `cargo test`. Without tests, compiler errors are the failures. undefined without either. */
export function readCargoReport({ stdout, stderr }: RunnerOutput): TestReport | undefined {
  const summaries = [...stdout.matchAll(SUMMARY)]
  const sum = (field: number): number => summaries.reduce((total, found) => total + Number(found[field]), 0)
  const broken = compilerErrors(stderr)
  if (summaries.length === 0 && broken.length === 0) return undefined
  const failures = [...stdout.split(/^failures:$/m).flatMap(sectionFailures), ...broken]
  return { passed: sum(1), failed: sum(2), errors: broken.length, skipped: sum(3), failures }
}

/** What failed tests printed. Each part begins with the name of its test. */
function sectionFailures(text: string): readonly TestFailure[] {
  const [, ...parts] = text.split(SECTION)
  return Array.from({ length: parts.length / 2 }, (_, index) => testFailure(parts[index * 2]!, parts[index * 2 + 1]!))
}

function testFailure(name: string, output: string): TestFailure {
  const panic = /^thread '.*' (?:\(\d+\) )?panicked at (?:'.*', )?(.+?):(\d+):\d+:?$/m.exec(output)
  const note = /test did not panic as expected at (.+?):(\d+):/.exec(output)
  const doc = /^(\S+\.rs) - .*\(line (\d+)\)$/.exec(name)
  const [, file, line] = doc ?? panic ?? note ?? []
  const said = panic === null ? output : output.slice(panic.index + panic[0].length)
  const message = said.replace(/^(?:note: run with `RUST_BACKTRACE|stack backtrace:)[^]*$/m, '').trim()
  return { name, file, line: line === undefined ? undefined : Number(line), message: message || output.trim() }
}

const COMPILER_ERROR = /^error(?:\[\w+\])?: (.+)\n\s+--> (.+?):(\d+):\d+$/gm

const compilerErrors = (stderr: string): readonly TestFailure[] =>
  Array.from(stderr.matchAll(COMPILER_ERROR), ([, message = '', file = '', line]) =>
    ({ name: file, file, line: Number(line), message, isError: true }))
