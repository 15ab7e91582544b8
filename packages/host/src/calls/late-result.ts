import { BulkheadError, type Outcome, type OutcomeBody } from '@bulkhead/contract'
import { errorBody } from '../model/outcome.ts'
import type { AllowedCall, HostContext } from '../policy/call.ts'
import { guardResult, isResultGuarded } from './guard-result.ts'
import type { RunningCall } from './running-call.ts'
import { saveWhole } from './settle.ts'
import { truncate } from './truncation.ts'

/**
 * The outcome of work that goes on after its call has answered. Guards and limits apply as to the result of the call.
 * Never rejects.
 */
export async function lateOutcome(
  { allowed, attempt }: Pick<RunningCall, 'allowed' | 'attempt'>, work: Promise<OutcomeBody>, child_loop_id: string,
  host: HostContext,
): Promise<Outcome> {
  const { call } = allowed
  const { tool, id: call_id, name } = call
  const began = host.clock.monotonic()
  const body = await work.then((result) => guarded(allowed, result, host)).catch(failed)
  const { body: shown, whole } = truncate(body, tool.maxOutputBytes, tool.maxEntries)
  const saved = whole === undefined ? {} : { truncated: true, ...await saveWhole({ call, body, whole }, host) }
  const duration_ms = Math.round(host.clock.monotonic() - began)
  const metadata = { call_id, tool: name, origin: tool.origin, duration_ms, attempt, child_loop_id, ...saved }
  return { ...shown, metadata }
}

async function guarded({ call, decision }: AllowedCall, body: OutcomeBody, host: HostContext): Promise<OutcomeBody> {
  if (!isResultGuarded(call)) return body
  return (await guardResult({ call, decision, reading: { body, metadata: {} } }, host)).reading.body
}

/** Unlike a cancelled call, it does not end the run. */
const failed = (thrown: unknown): OutcomeBody =>
  ({ ...errorBody(BulkheadError.from(thrown, 'ToolExecutionFailed')), completion: { needsFollowup: true } })
