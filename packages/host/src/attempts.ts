import { BulkheadError, CALL_LIMITS, type Clock, type ErrorCode, type OutcomeError } from '@bulkhead/contract'
import { untilAborted } from './cancellation.ts'

/** Trying again at once would meet the same refusal, or ask a person twice. */
const POINTLESS: ReadonlySet<ErrorCode> = new Set(['CompartmentQuarantined', 'MaxRetriesExceeded', 'InteractionTimeout'])

/**
 * Whether a failed attempt may be followed by another. A tool that says so itself has not acted; after a deadline or a
 * crash nobody knows, so only what does no harm twice is repeated.
 */
export function mayTryAgain({ code, class: errorClass, retryable }: Omit<OutcomeError, 'data'>, repeatable: boolean): boolean {
  if (POINTLESS.has(code)) return false
  if (errorClass === 'ToolTransient' && code !== 'ExecutionTimeout') return true
  return retryable && repeatable
}

/** 1.5ⁿ seconds and up to half a second more, so that calls that failed together do not come back together. */
export const backOffMs = (attempt: number): number => (1.5 ** attempt + Math.random() / 2) * 1000

export function rest(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const stopTimer = clock.after(ms, resolve)
  return untilAborted(promise, signal).finally(stopTimer)
}

/** What the caller is told when the last attempt failed like those before it. */
export function attemptsSpent(tool: string, last: { readonly code: ErrorCode; readonly message: string }): BulkheadError {
  const { attempts } = CALL_LIMITS
  const message = `The tool "${tool}" failed ${attempts} times, the last time with ${last.code}: ${last.message}`
  return new BulkheadError('MaxRetriesExceeded', message, { data: { attempts, code: last.code } })
}
