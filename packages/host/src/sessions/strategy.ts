import { BulkheadError, type Outcome } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import type { EventBus } from '../records/events.ts'
import type { PreparedCall } from '../calls/pipeline.ts'
import type { CancelScope } from '../model/cancel-scope.ts'

/**
 * How the calls of one response run. sequential: one after the other. parallel: all at once. batched: so many at once.
 * Results come in the order of the calls, whichever it is.
 */
export type ExecutionStrategy = 'sequential' | 'parallel' | { readonly batched: number }

/** Whether the person has said something new. Asked after each batch; true skips the calls that have not begun. */
export type Steering = () => boolean | Promise<boolean>

export interface StrategyRun {
  readonly batchSize: number
  readonly steering: Steering | undefined
  readonly events: EventBus
  /** Of all the calls: who is asked about steering is not waited for when they are cancelled. */
  readonly cancel: Pick<CancelScope, 'signal' | 'reason'>
  /** Contract for both: must not reject. */
  finish(call: PreparedCall): Promise<Outcome>
  skip(call: PreparedCall): Promise<Outcome>
}

/** Contract: never rejects. */
export async function runByStrategy(calls: readonly PreparedCall[], run: StrategyRun): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = []
  let steered = false
  for (let start = 0; start < calls.length; start += run.batchSize) {
    const batch = calls.slice(start, start + run.batchSize)
    outcomes.push(...await Promise.all(batch.map((call) => steered ? run.skip(call) : run.finish(call))))
    steered ||= await isSteered(run)
  }
  return outcomes
}

/** If asking fails, the person's wish is unknown, so no further call begins. */
async function isSteered({ steering, events, cancel }: StrategyRun): Promise<boolean> {
  if (!steering) return false
  try {
    return await untilAborted((async () => steering())(), cancel.signal) === true
  } catch (thrown) {
    // Those that are left end as cancelled.
    if (cancel.reason) return false
    events.suppressed('steering', thrown)
    return true
  }
}

/** Throws InputInvalid for a strategy there is none of. */
export function batchSizeOf(strategy: ExecutionStrategy): number {
  if (strategy === 'parallel') return Infinity
  if (strategy === 'sequential') return 1
  const size: unknown = typeof strategy === 'object' && strategy !== null ? strategy.batched : undefined
  if (typeof size === 'number' && Number.isSafeInteger(size) && size >= 1) return size
  const message = 'A strategy is "sequential", "parallel" or { batched: n } with n of at least 1.'
  throw new BulkheadError('InputInvalid', message, { data: { path: '/strategy' } })
}
