import { BulkheadError, CALL_LIMITS, type CompartmentSession } from '@bulkhead/contract'
import { readReturn, type Reading } from '@bulkhead/contract/dialects'
import { isCompartmentGone, untilStarted } from '../extensions/lifecycle/start.ts'
import { eventFields, type ClearedCall, type ExecutedCall } from '../policy/call.ts'
import type { HostContext } from '../policy/host-context.ts'
import { observe } from './hooks.ts'
import { attemptsSpent, backoffMs, mayRetry, sleep, type Failure } from './retry.ts'
import { RunningCall } from './running-call.ts'

/** Runs the tool in its compartment, and repeats a failed attempt if that is safe and there is time. Throws the last failure. */
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
  if (failure === undefined || !mayRetry(failure, call.tool.definition) || call.attempt >= CALL_LIMITS.attempts) return undefined
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
  const isSpent = failure?.class === 'ToolTransient' && call.attempt >= CALL_LIMITS.attempts && mayRetry(failure, call.tool.definition)
  const last = isSpent ? attemptsSpent(call.name, failure) : result
  if (last instanceof BulkheadError) throw last
  return call.answer(last)
}

/** A tool that reports a cancellation, which would end the run of the model, has failed. Only the host cancels. */
function attributed(error: BulkheadError): BulkheadError {
  const claimed = error.class === 'Cancellation' || error.code === 'HostClosed'
  return claimed ? new BulkheadError('ToolExecutionFailed', error.message, { cause: error }) : error
}
