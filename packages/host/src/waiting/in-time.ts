import { CALL_LIMITS, untilAborted, type Clock } from '@bulkhead/contract'
import type { ValidatedCall } from '../call.ts'

/**
 * The answer of somebody who may refuse the call. Each has as long as a call has where nobody says otherwise, or as long as this one where
 * that is longer. Rejects when the time is over or the call is cancelled.
 */
export function inTime<Answer>(answer: PromiseLike<Answer>, call: ValidatedCall, clock: Clock): Promise<Answer> {
  const ms = Math.max(call.timeoutMs ?? call.tool.timeoutMs, CALL_LIMITS.defaultTimeoutMs)
  const late = Promise.withResolvers<never>()
  const stopTimer = clock.after(ms, () => late.reject(new Error(`no answer within ${ms} ms`)))
  return untilAborted(Promise.race([answer, late.promise]), call.signal).finally(stopTimer)
}
