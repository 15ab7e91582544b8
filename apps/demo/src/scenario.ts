import type { Outcome } from 'bulkhead'
import type { Script } from './scripted-model.ts'

/** A scripted conversation and its expected results. */
export interface Scenario {
  readonly title: string
  script(): Script
  /** The expected result of each call, in order. */
  readonly expected: readonly Expected[]
}

export type Expected =
  | { readonly output: unknown }
  | { readonly error: string; readonly message?: RegExp }

/** One line for each call that differs from the expected result. */
export function differences(expected: readonly Expected[], outcomes: readonly Outcome[]): readonly string[] {
  const faults = expected.flatMap((wanted, index) => {
    const outcome = outcomes[index]
    const fault = outcome === undefined ? 'was never made' : difference(wanted, outcome)
    return fault === undefined ? [] : [`call ${index + 1} ${fault}`]
  })
  const extra = outcomes.length - expected.length
  return extra > 0 ? [...faults, `${extra} more calls than expected`] : faults
}

function difference(wanted: Expected, outcome: Outcome): string | undefined {
  if ('output' in wanted) {
    if (outcome.type === 'error') return `should have succeeded, but: ${outcome.error.code}`
    const data = JSON.stringify(outcome.data)
    const output = JSON.stringify(wanted.output)
    return data === output ? undefined : `returned ${data} instead of ${output}`
  }
  if (outcome.type === 'output') return `should have failed with ${wanted.error}, but succeeded`
  if (outcome.error.code !== wanted.error) return `failed with ${outcome.error.code} instead of ${wanted.error}`
  return wanted.message === undefined || wanted.message.test(outcome.error_text)
    ? undefined
    : `has a message that does not match ${wanted.message}: ${outcome.error_text}`
}
