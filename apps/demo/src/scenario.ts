import type { Outcome } from 'bulkhead'
import type { Script } from './scripted-model.ts'

/** A conversation and what must come of it. */
export interface Scenario {
  readonly title: string
  script(): Script
  /** What must come back for each call, in order. */
  readonly expected: readonly Expected[]
}

export type Expected =
  | { readonly output: unknown }
  | { readonly error: string; readonly says?: RegExp }

/** What differs, one line each; nothing when all is as expected. */
export function differences(expected: readonly Expected[], outcomes: readonly Outcome[]): readonly string[] {
  const faults = expected.flatMap((wanted, index) => {
    const outcome = outcomes[index]
    const fault = outcome === undefined ? 'was never made' : difference(wanted, outcome)
    return fault === undefined ? [] : [`call ${index + 1} ${fault}`]
  })
  return outcomes.length > expected.length ? [...faults, `${outcomes.length - expected.length} more calls than expected`] : faults
}

function difference(wanted: Expected, outcome: Outcome): string | undefined {
  if ('output' in wanted) {
    if (outcome.type === 'error') return `should have succeeded, but: ${outcome.error.code}`
    const data = JSON.stringify(outcome.data)
    return data === JSON.stringify(wanted.output) ? undefined : `answered ${data} instead of ${JSON.stringify(wanted.output)}`
  }
  if (outcome.type === 'output') return `should have failed with ${wanted.error}, but succeeded`
  if (outcome.error.code !== wanted.error) return `failed with ${outcome.error.code} instead of ${wanted.error}`
  return wanted.says === undefined || wanted.says.test(outcome.error_text) ? undefined : `does not say ${wanted.says}: ${outcome.error_text}`
}
