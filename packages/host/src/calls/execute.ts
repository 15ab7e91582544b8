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
  for (;;) {
    const result = await attempt(call, host)
    const failure = failureOf(result)
    if (failure === undefined || !mayRetry(failure, call.tool.definition)) return finish(call, result)
    if (call.attempt >= CALL_LIMITS.attempts) {
      return finish(call, failure.class === 'ToolTransient' ? attemptsSpent(call.name, failure) : result)
    }
    const pauseMs = backoffMs(call.attempt)
    call.leftMs -= pauseMs
    if (call.leftMs <= 0) return finish(call, result)
    await sleep(host.clock, pauseMs, call.signal)
  }
}

function failureOf(result: Reading | BulkheadError): Failure | undefined {
  if (result instanceof BulkheadError) return result
  const { body } = result
  return body.type === 'output' ? undefined : { ...body.error, message: body.error_text }
}

function finish(call: ClearedCall, result: Reading | BulkheadError): ExecutedCall {
  if (result instanceof BulkheadError) throw result
  return call.answer(result)
}

/** Rejects only if the call is cancelled. */
async function attempt(call: ClearedCall, host: HostContext): Promise<Reading | BulkheadError> {
  call.throwIfCancelled()
  call.attempt++
  if (host.events.hears('ToolInvocationStarted')) {
    host.events.emit({ type: 'ToolInvocationStarted', ...eventFields(call), attempt: call.attempt })
  }
  const isObserved = call.session.hooks.all.length > 0
  if (isObserved) observe('onBeforeTool', call, host)
  try {
    return await send(call, host)
  } catch (thrown) {
    call.throwIfCancelled()
    const error = attributed(BulkheadError.from(thrown))
    if (isObserved) observe('onToolError', call, host, { error })
    return error
  }
}

/** Sends the call to its compartment, or to the next one if that ended before it got the call. */
async function send(call: ClearedCall, host: HostContext): Promise<Reading> {
  let compartment: CompartmentSession | undefined = call.tool.extension.compartment
  for (;;) {
    compartment ??= await untilStarted(call, host.clock)
    // A hook may have cancelled it, or it was cancelled while the compartment started.
    call.throwIfCancelled()
    try {
      return readReturn(await new RunningCall(call, host).run(compartment))
    } catch (thrown) {
      call.throwIfCancelled()
      if (!isCompartmentGone(thrown)) throw thrown
      compartment = await untilStarted(call, host.clock, compartment)
    }
  }
}

/** A tool that reports a cancellation, which would end the run of the model, has failed. Only the host cancels. */
function attributed(error: BulkheadError): BulkheadError {
  const claimed = error.class === 'Cancellation' || error.code === 'HostClosed'
  return claimed ? new BulkheadError('ToolExecutionFailed', error.message, { cause: error }) : error
}
