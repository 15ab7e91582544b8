import { randomUUID } from 'node:crypto'
import type { ErrorCode, ErrorOutcome, Outcome } from '@bulkhead/contract'
import type { CallOptions, Session, ToolCall } from '@bulkhead/host'

/** A call that a workflow engine can repeat. */
export interface StepCall extends ToolCall {
  /** The same whenever the step runs again, such as the ids of workflow and step. */
  readonly idempotencyKey: string
}

/** Why a step has no result. */
export class StepError extends Error {
  override readonly name = 'StepError'
  readonly code: ErrorCode
  /** Whether running the step again is safe and can help. */
  readonly retryable: boolean
  readonly outcome: ErrorOutcome

  constructor(outcome: ErrorOutcome, retryable: boolean) {
    super(outcome.error_text)
    this.code = outcome.error.code
    this.retryable = retryable
    this.outcome = outcome
  }
}

/** No repetition helps, and no model can. */
const FINAL: ReadonlySet<ErrorCode> = new Set(['OutcomeUnknown', 'ConfigInvalid', 'IdempotencyKeyReused'])
/** What ends a call when its process or session does: the next one can make it. */
const ENDED: ReadonlySet<ErrorCode> = new Set(['HostClosed', 'CallInterrupted'])

/**
 * Makes a call one step of a workflow engine, which records what the step returns and repeats a step that throws. The
 * host tries the call once. Resolves with its outcome, also with an error that a model should read. Rejects with a
 * StepError where the outcome is none to record: `retryable` if the step may run again with the same key, and not for
 * `OutcomeUnknown`, a call that the signal cancelled, and a call without a key or a host without a store.
 */
export async function callAsStep(
  session: Pick<Session, 'call'>, call: StepCall, options: Omit<CallOptions, 'isStep'> = {},
): Promise<Outcome> {
  // A session takes each id once, and its engine may repeat the step in the same process.
  const ran = await session.call({ ...call, id: randomUUID() }, { ...options, isStep: true })
  const outcome: Outcome = { ...ran, metadata: { ...ran.metadata, call_id: call.id } }
  if (outcome.type === 'output') return outcome
  const { error: { code, class: errorClass, retryable }, metadata: { replayed } } = outcome
  if (FINAL.has(code) || call.idempotencyKey === undefined) throw new StepError(outcome, false)
  // The recorded outcome stays the same, however often it is asked for.
  if (replayed) return outcome
  if (errorClass === 'Cancellation') throw new StepError(outcome, options.signal?.aborted !== true)
  if (retryable || ENDED.has(code)) throw new StepError(outcome, true)
  return outcome
}
