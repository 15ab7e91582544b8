/** One failed test, or a file that could not be run. */
export interface TestFailure {
  readonly name: string
  /** As the runner writes it: absolute, or relative to the project. */
  readonly file?: string | undefined
  readonly line?: number | undefined
  readonly message: string
  /** It could not run: a fixture or a file failed, not an assertion. */
  readonly isError?: boolean
  /** What the test printed. */
  readonly output?: string | undefined
}

export interface TestReport {
  readonly passed: number
  readonly failed: number
  readonly errors: number
  readonly skipped: number
  readonly failures: readonly TestFailure[]
}

/** The counts of failures that are none of the runner's own. */
export const countFailures = (failures: readonly TestFailure[]): Pick<TestReport, 'failed' | 'errors' | 'failures'> => {
  const errors = failures.filter(({ isError }) => isError).length
  return { failed: failures.length - errors, errors, failures }
}

/** The output of a runner. */
export interface RunnerOutput {
  readonly stdout: string
  readonly stderr: string
}

// oxlint-disable-next-line no-control-regex
const ANSI = /\u001B\[[0-9;]*[A-Za-z]/g
export const withoutColors = (text: string): string => text.replaceAll(ANSI, '')

/** The line of a file that a stack trace names first, by its path or by its name alone. */
export const lineIn = (stack: string, file: string): number | undefined =>
  lineOf(stack, file) ?? lineOf(stack, file.slice(file.lastIndexOf('/') + 1))

function lineOf(stack: string, file: string): number | undefined {
  for (let at = stack.indexOf(`${file}:`); at >= 0; at = stack.indexOf(`${file}:`, at + 1)) {
    const line = /^\d+/.exec(stack.slice(at + file.length + 1, at + file.length + 12))?.[0]
    if (line !== undefined) return Number(line)
  }
  return undefined
}
