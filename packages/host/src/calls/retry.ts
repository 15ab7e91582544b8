import { BulkheadError, CALL_LIMITS, type Clock, type ErrorCode, type OutcomeError, type ToolDefinition } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { failsFast, type FailureReport } from './fast-fail.ts'

/**
 * The time of the call is over, or trying again at once would meet the same fault, or ask a person twice; the next call may.
 * A limit of the host has made the call wait already where waiting helps.
 */
const POINTLESS: ReadonlySet<ErrorCode> = new Set([
  'ExecutionTimeout', 'CompartmentStartFailed', 'CompartmentStartTimeout', 'NoPlaceFree', 'LifecycleFailure', 'LifecycleTimeout',
  'CompartmentQuarantined', 'MaxRetriesExceeded', 'InteractionTimeout', 'TooManyCalls',
  'ServerUnavailable',
])

/** What went wrong, in the words of whoever says so. */
export type Failure = Pick<OutcomeError, 'class' | 'retryable'> & FailureReport

/**
 * Whether a failed attempt may be followed by another. A tool that says it is busy has not acted; one that only reads
 * may read again. After the end of a compartment nobody knows, so only what is declared idempotent is repeated.
 */
export function mayTryAgain(failure: Failure, { idempotent, mode }: Pick<ToolDefinition, 'idempotent' | 'mode'>): boolean {
  const { code, class: errorClass, retryable } = failure
  if (POINTLESS.has(code)) return false
  if (errorClass === 'ExtensionHost') return retryable && idempotent
  if (failsFast(failure)) return false
  return errorClass === 'ToolTransient' || (retryable && (idempotent || mode === 'read'))
}

/** 1.5ⁿ seconds and up to half a second more, so that calls that failed together do not come back together. */
export const backOffMs = (attempt: number): number => (1.5 ** attempt + Math.random() / 2) * 1000

export function rest(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const stopTimer = clock.after(ms, resolve)
  return untilAborted(promise, signal).finally(stopTimer)
}

/** What the caller is told when the last attempt failed with a passing error like those before it. */
export function attemptsSpent(tool: string, last: { readonly code: ErrorCode; readonly message: string }): BulkheadError {
  const { attempts } = CALL_LIMITS
  const message = `The tool "${tool}" failed ${attempts} times, the last time with ${last.code}: ${last.message}`
  return new BulkheadError('MaxRetriesExceeded', message, { data: { attempts, code: last.code } })
}
