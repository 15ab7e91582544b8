import type { ErrorCode } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'

/** What a failure says of itself. */
export interface FailureReport {
  readonly code: ErrorCode
  readonly message: string
  readonly data?: Json | undefined
}

/** Said by code: nothing of this passes by itself. */
const CODES: ReadonlySet<ErrorCode> = new Set([
  'NotFound', 'InputInvalid', 'CapabilityDenied', 'CommandRejected', 'BudgetExhausted', 'EnvNameNotSet', 'EnvNameUndeclared',
])

/** Said in words, by tools that know no codes and call everything that went wrong a passing error. */
const TEXTS: readonly RegExp[] = [
  /\b(?:not found|no such file|does not exist|cannot find|could not find|ENOENT)\b/i,
  /\boutside (?:of )?(?:the |its |your )?(?:workspace|project|sandbox)\b|\bpath traversal\b/i,
  /\b(?:blocked|security|forbidden|not permitted|not allowed|permission denied|access denied|EACCES|EPERM)\b/i,
  /\bbudget\b/i,
  /\b(?:not a git repository|nothing to commit|merge conflict|unmerged|detached HEAD|uncommitted changes|non-fast-forward)\b/i,
  /\b(?:hunk|patch|diff)\b[^\n]{0,200}\b(?:failed|rejected|does not apply|malformed|corrupt)\b/i,
]

/** Of a failing test run: counts of tests that failed or could not be run. */
const COUNTS = ['failed', 'failures', 'error', 'errors', 'failed_count', 'error_count'] as const

/** Whether trying again would meet the very same: a missing file stays missing, and a failing test fails. */
export function failsFast({ code, message, data }: FailureReport): boolean {
  return CODES.has(code) || TEXTS.some((text) => text.test(message)) || countsFailures(data)
}

const countsFailures = (data: Json | undefined): boolean =>
  isJsonObject(data) && COUNTS.some((name) => typeof data[name] === 'number' && data[name] > 0)
