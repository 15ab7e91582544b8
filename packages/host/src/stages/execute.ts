import { BulkheadError, CALL_LIMITS } from '@bulkhead/contract'
import { readReturn, type Reading } from '@bulkhead/contract/dialects'
import { attemptsSpent, backOffMs, mayTryAgain, rest } from '../calls/attempts.ts'
import { eventFields, type ClearedCall, type ExecutedCall } from '../call.ts'
import { untilAborted } from '../waiting/cancellation.ts'
import type { HostContext } from '../host-context.ts'
import { observe } from '../hooks/observe.ts'
import { RunningCall } from '../calls/running-call.ts'

/** Runs the tool in its compartment, again where that does no harm and its time is not over. Throws what ended the last attempt. */
export async function execute(call: ClearedCall, host: HostContext): Promise<ExecutedCall> {
  const { extension, definition } = call.tool
  /** Of the time of the call, which does not run while a person is asked: an attempt has what those before it have left. */
  let leftMs = call.timeoutMs ?? call.tool.timeoutMs
  for (let attempt = 1; ; attempt++) {
    call.throwIfCancelled()
    call.attempt = attempt
    if (host.events.hears('ToolInvocationStarted')) host.events.emit({ type: 'ToolInvocationStarted', ...eventFields(call), attempt })
    const isObserved = call.session.hooks.all.length > 0
    if (isObserved) observe('onBeforeTool', call, host)
    /** What the attempt came to: an answer, which may itself report an error, or what ended it. */
    let result: Reading | BulkheadError
    let running: RunningCall | undefined
    try {
      const compartment = extension.compartment ?? await untilAborted(extension.start(call.session.interactions), call.signal)
      // Cancelled while the compartment was on its way.
      call.throwIfCancelled()
      running = new RunningCall(call, compartment, host, leftMs)
      result = readReturn(await running.answer)
    } catch (thrown) {
      call.throwIfCancelled()
      result = attributed(BulkheadError.from(thrown))
      if (isObserved) observe('onToolError', call, host, { error: result })
    }
    const failure = failureIn(result)
    const again = failure !== undefined && mayTryAgain(failure, definition)
    if (again && attempt < CALL_LIMITS.attempts) {
      const restMs = backOffMs(attempt)
      leftMs = (running?.deadline.leftMs ?? leftMs) - restMs
      if (leftMs > 0) {
        await rest(host.clock, restMs, call.signal)
        continue
      }
    } else if (again && failure.class === 'ToolTransient') {
      throw attemptsSpent(call.name, failure)
    }
    if (result instanceof BulkheadError) throw result
    return call.answer(result)
  }
}

/** A tool that claims a cancellation, which would end the run of the model, has failed like any other: ours are not claimed. */
function attributed(error: BulkheadError): BulkheadError {
  const claimed = error.class === 'Cancellation' || error.code === 'HostClosed'
  return claimed ? new BulkheadError('ToolExecutionFailed', error.message, { cause: error }) : error
}

function failureIn(result: Reading | BulkheadError) {
  if (result instanceof BulkheadError) return result
  const { body } = result
  return body.type === 'error' ? { ...body.error, message: body.error_text } : undefined
}
