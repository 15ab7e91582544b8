import {
  BulkheadError, CALL_LIMITS, type EventOf, type Outcome, type OutcomeBody, type OutcomeMetadata, type OutputOutcome,
} from '@bulkhead/contract'
import type { CarriedMetadata } from '@bulkhead/contract/dialects'
import { isJsonObject } from '@bulkhead/kit/json'
import { deepFreeze } from '@bulkhead/kit/json-copy'
import { eventFields } from '../model/event-fields.ts'
import type { CallRun } from '../model/call-run.ts'
import {
  callOf, ResolvedCall, ValidatedCall, type Call, type DecidedCall, type ExecutedCall, type HostContext,
  type StageRecord,
} from '../policy/call.ts'
import { viewOf } from '../policy/model/checked-call.ts'
import { isResultGuarded } from './guard-result.ts'
import { notify, observe, refusalPoint } from './hooks.ts'
import { tooManyBytesSaved } from '../records/timeouts.ts'
import { wasCancelled } from '../records/metrics.ts'
import { errorBody } from '../model/outcome.ts'
import { isWhole, jsonChars, truncate } from './truncation.ts'
import { outputOf, type CallOutput, type SavedResult } from './whole-output.ts'

/** A call that ended, before its outcome is announced. */
export interface Ending {
  readonly body: OutcomeBody
  readonly claimed: CarriedMetadata
  /** The result was too long, and this is all of it. */
  readonly long?: LongResult | undefined
  readonly replayed?: true
}

interface LongResult {
  readonly call: ResolvedCall
  readonly body: OutcomeBody
  readonly whole: string | CallOutput
}

/** The outcome that a call with the same idempotency key had. */
export const keyedEnding = ({ metadata: _, ...body }: Outcome): Ending =>
  ({ body: body as OutcomeBody, claimed: NOTHING_CLAIMED, replayed: true })

/** The result or the error of a call, as long as a model may see it. The observers are notified. */
export function endingOf(run: CallRun<StageRecord>, ended: ExecutedCall | BulkheadError, host: HostContext): Ending {
  const { reached, attempts: { count: attempt }, reservation } = run
  const call = callOf(reached)
  // A call that never ran costs nothing.
  if (attempt === 0) reservation?.release()
  const { body, metadata: claimed } = ended instanceof BulkheadError
    ? { body: errorBody(ended), metadata: 'reading' in reached ? reached.reading.metadata : NOTHING_CLAIMED }
    : ended.reading
  if (call.session.hooks.all.length > 0) notifyObservers(call, attempt, ended, host)
  if (claimed.tokens_used !== undefined) reservation?.settle(claimed.tokens_used)
  if (!(call instanceof ResolvedCall)) return { body, claimed }
  const { tool } = call
  // The result of a nested call goes to a program, which could fill the disk with files that no model sees.
  if (call.parent) return { body: wholeOrRefused(body, tool.extension.limits.outputBytes), claimed }
  const isBundled = tool.origin.layer === 'bundled'
  const output = isBundled ? outputOf(call) : undefined
  const keepsTail = output !== undefined || (isBundled && tool.maxEntries !== Infinity)
  const { body: head, whole } = truncate(body, tool.maxOutputBytes, tool.maxEntries, keepsTail)
  // What a guard has checked or changed is saved, and not what the tool put out.
  const isUsed = output !== undefined && !output.isEmpty && body.type === 'output'
    && call instanceof ValidatedCall && !isResultGuarded(call)
  if (isUsed && (whole !== undefined || leavesOut(body))) {
    return { body: head, claimed, long: { call, body, whole: output } }
  }
  output?.drop()
  return { body: head, claimed, ...(whole !== undefined && { long: { call, body, whole } }) }
}

/** Whether a bundled tool says that its result is not all there is. */
const leavesOut = ({ data }: Pick<OutputOutcome, 'data'>): boolean =>
  isJsonObject(data) && (data['truncated'] === true || data['incomplete'] === true || data['last'] !== undefined)

function wholeOrRefused(body: OutcomeBody, outputBytes: number): OutcomeBody {
  if (isWhole(body, outputBytes)) return body
  return errorBody(new BulkheadError(
    'OutputTooLarge', `The result has more than ${outputBytes} bytes. Ask for less, or raise outputBytes.`,
    { data: { limit: 'outputBytes' } },
  ))
}

/** Observers see a success, and a refusal before the tool ran. */
function notifyObservers(
  call: Call, attempt: number, ended: ExecutedCall | BulkheadError, host: HostContext,
): void {
  if (ended instanceof BulkheadError) {
    const point = attempt === 0 ? refusalPoint(ended) : undefined
    if (point) observe(point, call, host, { attempt, error: ended })
  } else if (ended.reading.body.type === 'output') {
    observe('onAfterTool', call, host, { attempt, result: ended.reading.body })
  }
}

const NOTHING_CLAIMED: CarriedMetadata = {}

/** A result that is too long for a model is saved whole, if the host has a place for it. */
export async function saveWhole(
  { call, body, whole }: LongResult, { sidecar, events }: HostContext,
): Promise<SavedResult> {
  if (typeof whole !== 'string') return whole.close()
  if (!sidecar) return {}
  try {
    const { savedBytes } = call.tool.extension.limits
    if (Buffer.byteLength(whole) > savedBytes) throw tooManyBytesSaved('savedBytes', savedBytes)
    const output_path = await sidecar.save(call.session.id, call.id, whole)
    return isPart(call, body) ? { output_path, output_cut: true } : { output_path }
  } catch (thrown) {
    events.suppressed('sidecar', thrown)
    return {}
  }
}

/** Whether a bundled tool has cut its result itself. */
const isPart = ({ tool }: ResolvedCall, body: OutcomeBody): boolean =>
  tool.origin.layer === 'bundled' && body.type === 'output' && leavesOut(body)

/** The host accepts only those claims of a tool that it cannot check itself. */
function metadataOf(run: CallRun<StageRecord>, claimed: CarriedMetadata, { clock }: HostContext): OutcomeMetadata {
  const { reached, attempts: { count: attempt }, reservation } = run
  const call = callOf(reached)
  const metadata: { -readonly [Field in keyof OutcomeMetadata]: OutcomeMetadata[Field] } = {
    call_id: call.id,
    tool: call.name,
    origin: call instanceof ResolvedCall ? call.tool.origin : null,
    duration_ms: Math.round(clock.monotonic() - call.startedAt),
    attempt,
  }
  if (attempt > 0 && reservation) metadata.tokens_used = claimed.tokens_used ?? reservation.tokens
  const { child_loop_id: loop } = claimed
  // An id that is cut is not an id.
  if (loop !== undefined && loop.length <= CALL_LIMITS.idChars) metadata.child_loop_id = loop
  return metadata
}

/** The end of every call: one outcome, one event, and the hooks are notified. */
export function settle(
  run: CallRun<StageRecord>, { body, claimed, long, replayed }: Ending, saved: SavedResult | undefined,
  host: HostContext,
): Outcome {
  const { reached, attempts, askedMs } = run
  const call = callOf(reached)
  const known = metadataOf(run, claimed, host)
  const metadata = long ? { ...known, truncated: true, ...saved } : replayed ? { ...known, replayed } : known
  const outcome: Outcome = body.type === 'output' ? { ...body, metadata } : { ...body, metadata }
  if (call instanceof ResolvedCall) host.metrics.count(call.tool, outcome, askedMs)
  announce(call, outcome, {
    ...(replayed && { replayed }), ...(attempts.effects.words && { began: attempts.effects.words }),
    ...attempts.phases.summary(call.startedAt, host.clock.monotonic()),
  }, host)
  const isObserved = attempts.count > 0 && call.session.hooks.all.length > 0
  if (isObserved && 'decision' in reached) runAfterHooks(reached, outcome, host)
  return outcome
}

/** Cancelled: it never ran, or was stopped. Failed: it ran. */
function announce(
  call: Call, outcome: Outcome, known: Pick<EventOf<'ToolInvocationSucceeded'>, 'began' | 'replayed' | 'phases' | 'uses' | 'moreUses'>, { events }: HostContext,
): void {
  const { duration_ms: durationMs, attempt } = outcome.metadata
  const end = { ...eventFields(call), durationMs, attempt, ...known }
  if (outcome.type === 'output') {
    if (events.hears('ToolInvocationSucceeded')) {
      events.emit({ type: 'ToolInvocationSucceeded', ...end, resultChars: jsonChars(outcome.data) })
    }
    return
  }
  const { error: { code: errorCode, class: errorClass }, error_text: message } = outcome
  if (wasCancelled(outcome)) {
    return events.emit({ type: 'ToolInvocationCancelled', ...end, errorCode, reason: message })
  }
  events.emit({ type: 'ToolInvocationFailed', ...end, errorClass, errorCode, message })
}

function runAfterHooks(
  { call, decision }: Pick<DecidedCall, 'call' | 'decision'>, outcome: Outcome, host: HostContext,
): void {
  const view = viewOf(call, decision.analysis.approvalKey)
  for (const hooks of call.session.hooks.all) {
    notify('afterToolExecution', host, () => hooks.afterToolExecution?.(view, deepFreeze(outcome)))
  }
}
