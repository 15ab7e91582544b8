import type { Outcome, OutcomeBody, OutcomeMetadata } from '@bulkhead/contract'
import type { CarriedMetadata } from '@bulkhead/contract/dialects'
import { eventFields, Refusal, viewOf, type BudgetedCall, type ExecutedCall, type RawCall } from '../call.ts'
import type { HostContext } from '../host-context.ts'
import { errorBody } from '../outcome.ts'
import { truncate } from '../truncation.ts'

/** The end of every call, whichever way it came: one outcome, one event, and the hooks are told. */
export async function settle(call: RawCall, ended: ExecutedCall | Refusal, host: HostContext): Promise<Outcome> {
  const { attempt, budgeted } = call.progress
  // What never ran costs nothing.
  if (attempt === 0) budgeted?.reservation.release()
  const { body, metadata: claimed } = ended instanceof Refusal ? { body: errorBody(ended.error), metadata: {} } : ended.reading
  if (claimed.tokens_used !== undefined) budgeted?.reservation.settle(claimed.tokens_used)
  const limited = await limit(call, body, host)
  const outcome = complete(limited, metadataOf(call, limited, claimed, host))
  announce(call, outcome, host)
  if (attempt > 0 && budgeted) tellAfterHook(budgeted, outcome, host)
  return outcome
}

interface Limited {
  readonly body: OutcomeBody
  readonly truncated: boolean
  readonly outputPath: string | undefined
}

/** What is too long for a model is cut, and kept whole where there is a place for it. */
async function limit(call: RawCall, body: OutcomeBody, { sidecar, events }: HostContext): Promise<Limited> {
  const { maxOutputBytes = Infinity, maxEntries = Infinity } = call.progress.tool ?? {}
  const { body: head, whole } = truncate(body, maxOutputBytes, maxEntries)
  if (whole === undefined || !sidecar) return { body: head, truncated: whole !== undefined, outputPath: undefined }
  try {
    return { body: head, truncated: true, outputPath: await sidecar.save(call.session.id, call.id, whole) }
  } catch (thrown) {
    events.suppressed('sidecar', thrown)
    return { body: head, truncated: true, outputPath: undefined }
  }
}

/** Of what the tool claims, only what the host cannot know better is believed. */
function metadataOf(
  call: RawCall, { truncated, outputPath }: Limited, claimed: CarriedMetadata, { clock }: HostContext,
): OutcomeMetadata {
  const { tool, startedAt, attempt, budgeted } = call.progress
  return {
    call_id: call.id,
    tool: call.name,
    origin: tool?.origin ?? null,
    duration_ms: Math.round(clock.monotonic() - startedAt),
    attempt,
    ...(truncated ? { truncated } : {}),
    ...(outputPath === undefined ? {} : { output_path: outputPath }),
    ...(attempt > 0 && budgeted ? { tokens_used: claimed.tokens_used ?? budgeted.reservation.tokens } : {}),
    ...(claimed.child_loop_id === undefined ? {} : { child_loop_id: claimed.child_loop_id }),
  }
}

function complete({ body }: Limited, metadata: OutcomeMetadata): Outcome {
  return body.type === 'output' ? { ...body, metadata } : { ...body, metadata }
}

/** Cancelled: it never ran, or was stopped. Failed: it ran. */
function announce(call: RawCall, outcome: Outcome, { events }: HostContext): void {
  const fields = { ...eventFields(call), durationMs: outcome.metadata.duration_ms }
  if (outcome.type === 'output') return events.emit({ type: 'ToolInvocationSucceeded', ...fields })
  const { error: { code, class: errorClass }, error_text: message } = outcome
  if (outcome.metadata.attempt === 0 || errorClass === 'Cancellation') {
    return events.emit({ type: 'ToolInvocationCancelled', ...fields, errorCode: code, reason: message })
  }
  events.emit({ type: 'ToolInvocationFailed', ...fields, errorClass, errorCode: code, message })
}

function tellAfterHook(call: BudgetedCall, outcome: Outcome, { events }: HostContext): void {
  const report = (thrown: unknown) => events.suppressed('after-hook', thrown)
  try {
    const told = call.session.hooks.afterToolExecution?.(viewOf(call, call.decision.approvalKey), outcome)
    if (told instanceof Promise) told.catch(report)
  } catch (thrown) {
    report(thrown)
  }
}
