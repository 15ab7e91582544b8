import {
  BulkheadError, CALL_LIMITS, type Clock, type CompartmentSession, type ErrorCode, type OutcomeError,
  type ToolDefinition,
} from '@bulkhead/contract'
import { readReturn, type Reading } from '@bulkhead/contract/dialects'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { eventFields } from '../model/event-fields.ts'
import { isCompartmentGone, untilStarted } from '../extensions/lifecycle/start.ts'
import type { ClearedCall, ExecutedCall, HostContext } from '../policy/call.ts'
import { noteStopped } from '../policy/command-walls.ts'
import { observe } from './hooks.ts'
import { RunningCall } from './running-call.ts'

/**
 * Runs the tool in its compartment, and repeats a failed attempt if that is safe and there is time. Throws the last
 * failure.
 */
export async function execute(call: ClearedCall, host: HostContext): Promise<ExecutedCall> {
  // A compartment that ended before it got the call: the next one gets it.
  let gone: CompartmentSession | undefined
  for (;;) {
    if (!gone) beginAttempt(call, host)
    let compartment: CompartmentSession | undefined
    let result: Reading | BulkheadError
    try {
      compartment = (gone ? undefined : call.tool.extension.compartment) ?? await untilStarted(call, host.clock, gone)
      // A hook may have cancelled it, or it was cancelled while the compartment started.
      call.throwIfCancelled()
      result = readReturn(await new RunningCall(call, host).run(compartment))
    } catch (thrown) {
      call.throwIfCancelled()
      gone = isCompartmentGone(thrown) ? compartment : undefined
      if (gone) continue
      result = attributed(BulkheadError.from(thrown))
      if (call.session.hooks.all.length > 0) observe('onToolError', call, host, { error: result })
    }
    const pauseMs = pauseBeforeRetry(call, result)
    if (pauseMs === undefined) return finish(call, result)
    await sleep(host.clock, pauseMs, call.signal)
  }
}

function beginAttempt(call: ClearedCall, host: HostContext): void {
  call.throwIfCancelled()
  call.attempt++
  if (host.events.hears('ToolInvocationStarted')) {
    host.events.emit({ type: 'ToolInvocationStarted', ...eventFields(call), attempt: call.attempt })
  }
  if (call.session.hooks.all.length > 0) observe('onBeforeTool', call, host)
}

/** undefined if the result is final: it is none to retry, or attempts or time are spent. */
function pauseBeforeRetry(call: ClearedCall, result: Reading | BulkheadError): number | undefined {
  const failure = failureOf(result)
  if (failure === undefined || !mayRetry(failure, call.tool.definition) || call.attempt >= CALL_LIMITS.attempts) {
    return undefined
  }
  const pauseMs = backoffMs(call.attempt)
  call.leftMs -= pauseMs
  return call.leftMs > 0 ? pauseMs : undefined
}

function failureOf(result: Reading | BulkheadError): Failure | undefined {
  if (result instanceof BulkheadError) return result
  const { body } = result
  return body.type === 'output' ? undefined : { ...body.error, message: body.error_text }
}

function finish(call: ClearedCall, result: Reading | BulkheadError): ExecutedCall {
  const failure = failureOf(result)
  const isSpent = failure?.class === 'ToolTransient' && call.attempt >= CALL_LIMITS.attempts
    && mayRetry(failure, call.tool.definition)
  const last = isSpent ? attemptsSpent(call.name, failure) : result
  if (last instanceof BulkheadError) throw last
  if (last.body.type === 'output' && call.tool.origin.layer === 'bundled') {
    noteStopped(call.session, call.decision.analysis, last.body.data)
  }
  return call.answer(last)
}

/** A tool that reports a cancellation, which would end the run of the model, has failed. Only the host cancels. */
function attributed(error: BulkheadError): BulkheadError {
  const claimed = error.class === 'Cancellation' || error.code === 'HostClosed'
  return claimed ? new BulkheadError('ToolExecutionFailed', error.message, { cause: error }) : error
}

/** How an attempt failed. */
export interface Failure extends Pick<OutcomeError, 'class' | 'retryable'> {
  readonly code: ErrorCode
  readonly message: string
  readonly data?: Json | undefined
}

/** A second attempt of the same call would have no time left, meet the same fault, or ask a person twice. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  'ExecutionTimeout', 'CompartmentStartFailed', 'CompartmentStartTimeout', 'NoPlaceFree', 'LifecycleFailure',
  'LifecycleTimeout',
  'CompartmentQuarantined', 'MaxRetriesExceeded', 'InteractionTimeout', 'TooManyCalls',
  'ServerUnavailable',
])

/** Codes of faults that last. */
const LASTING: ReadonlySet<ErrorCode> = new Set([
  'NotFound', 'InputInvalid', 'CapabilityDenied', 'CommandRejected', 'BudgetExhausted', 'EnvNameNotSet',
  'EnvNameUndeclared',
])

/** Messages of faults that last, from tools that use no codes and report every error as transient. */
const LASTING_MESSAGES: readonly RegExp[] = [
  /\b(?:not found|no such file|does not exist|cannot find|could not find|ENOENT)\b/i,
  /\boutside (?:of )?(?:the |its |your )?(?:workspace|project|sandbox)\b|\bpath traversal\b/i,
  /\b(?:blocked|security|forbidden|not permitted|not allowed|permission denied|access denied|EACCES|EPERM)\b/i,
  /\bbudget\b/i,
  /\b(?:not a git repository|nothing to commit|merge conflict|unmerged|detached HEAD|uncommitted changes|non-fast-forward)\b/i,
  /\b(?:hunk|patch|diff)\b[^\n]{0,200}\b(?:failed|rejected|does not apply|malformed|corrupt)\b/i,
]

/** Counts of tests that failed or could not run. */
const FAILURE_COUNTS = ['failed', 'failures', 'error', 'errors', 'failed_count', 'error_count'] as const

/**
 * Whether another attempt may follow. A tool that reports that it is busy has not acted, and a tool that only reads may
 * read again. After a crash the effects are unknown, so only idempotent tools are repeated.
 */
export function mayRetry(failure: Failure, { idempotent, mode }: Pick<ToolDefinition, 'idempotent' | 'mode'>): boolean {
  const { code, class: errorClass, retryable } = failure
  if (FINAL.has(code)) return false
  if (errorClass === 'ExtensionHost') return retryable && idempotent
  if (isLasting(failure)) return false
  return errorClass === 'ToolTransient' || (retryable && (idempotent || mode === 'read'))
}

/** Whether another attempt would fail in the same way: a missing file stays missing, and a failing test fails. */
export function isLasting({ code, message, data }: Pick<Failure, 'code' | 'message' | 'data'>): boolean {
  return LASTING.has(code) || LASTING_MESSAGES.some((pattern) => pattern.test(message)) || countsFailures(data)
}

const countsFailures = (data: Json | undefined): boolean =>
  isJsonObject(data) && FAILURE_COUNTS.some((name) => typeof data[name] === 'number' && data[name] > 0)

/** 1.5ⁿ seconds plus up to half a second, so that calls that failed together are not repeated together. */
export const backoffMs = (attempt: number): number => (1.5 ** attempt + Math.random() / 2) * 1000

function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const stopTimer = clock.after(ms, resolve)
  return untilAborted(promise, signal).finally(stopTimer)
}

/** The error of a call whose every attempt failed with a transient error. */
function attemptsSpent(tool: string, last: Pick<Failure, 'code' | 'message'>): BulkheadError {
  const { attempts } = CALL_LIMITS
  const message = `The tool "${tool}" failed ${attempts} times, the last time with ${last.code}: ${last.message}`
  return new BulkheadError('MaxRetriesExceeded', message, { data: { attempts, code: last.code } })
}
