import { CALL_LIMITS, type Clock } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'

/** The answer of somebody who may refuse the call. Rejects when their time is over or the call is cancelled. */
export function inTime<Answer>(answer: PromiseLike<Answer>, { signal }: { readonly signal: AbortSignal }, clock: Clock): Promise<Answer> {
  const { judgeMs } = CALL_LIMITS
  const late = Promise.withResolvers<never>()
  const stopTimer = clock.after(judgeMs, () => late.reject(new Error(`no answer within ${judgeMs} ms`)))
  return untilAborted(Promise.race([answer, late.promise]), signal).finally(stopTimer)
}
